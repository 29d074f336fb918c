// Planted faults for valgrind: `npm run test:valgrind` demands a report of each, by name, before it believes a clean
// run.
#include <cstdio>
#include <cstring>
#include <string>

int main(int argc, char** argv) {
  const std::string fault = argc > 1 ? argv[1] : "";
  volatile char* block = new char[100];
  if (fault == "uninitialised") {
    const bool chosen = block[50] != 0;
    if (chosen) std::puts("a byte that nobody wrote");
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
