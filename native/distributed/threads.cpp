#include "native/distributed/threads.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace ltn::distributed {
namespace {

// Lifetime: one per process, never destroyed, because its threads may outlive the end of main().
class Threads {
 public:
  void run(std::function<void()> work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(work));
    if (idle_ >= waiting_.size()) {
      wake_.notify_one();
      return;
    }
    try {
      std::thread(&Threads::serve, this).detach();
    } catch (...) {  // no thread could be started: the caller reports it
      waiting_.pop_back();
      throw;
    }
  }

 private:
  void serve() noexcept {
    constexpr auto kIdle = std::chrono::seconds(10);
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      ++idle_;
      const bool found = wake_.wait_for(lock, kIdle, [this] { return !waiting_.empty(); });
      --idle_;
      if (!found) return;
      std::function<void()> work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
      work = nullptr;  // what it holds may block at its end
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;  // guarded by mutex_
  size_t idle_ = 0;                            // guarded by mutex_
};

}  // namespace

void run_blocking(std::function<void()> work) {
  static auto* const process_threads = new Threads;  // see its lifetime
  process_threads->run(std::move(work));
}

}  // namespace ltn::distributed
