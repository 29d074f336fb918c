// Planted faults for valgrind and the thread sanitizer: `npm run test:valgrind` and `npm run test:tsan` each run their
// faults by name and expect a report of each, because a broken set-up would also make a run look clean.
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

namespace {

// Two threads that write without a lock, or each with a lock of its own.
int race(bool with_locks) {
  int shared = 0;
  std::mutex first, second;
  const auto write = [&](std::mutex& mutex) {
    if (with_locks) mutex.lock();
    shared += 1;
    if (with_locks) mutex.unlock();
  };
  std::thread other([&] { write(first); });
  write(second);
  other.join();
  return shared > 0 ? 0 : 1;
}

// One thread writes to memory and another frees it, without synchronization.
int freed_by_another() {
  auto* block = new int(0);
  std::thread other([block] { *block = 1; });
  std::thread third([block] { delete block; });
  other.join();
  third.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string fault = argc > 1 ? argv[1] : "";
  if (fault == "race" || fault == "wrong_lock") return race(fault == "wrong_lock");
  if (fault == "freed_by_another") return freed_by_another();
  volatile char* block = new char[100];
  if (fault == "uninitialised") {
    const bool chosen = block[50] != 0;
    if (chosen) std::puts("an uninitialised byte");
    delete[] block;
  } else if (fault == "use_after_free") {
    block[50] = 1;
    delete[] block;
    std::printf("%d\n", block[50]);
  } else if (fault == "leak") {
    block[50] = static_cast<char>(argc);
    block = nullptr;
  } else {
    delete[] block;
    return 2;
  }
  return 0;
}
