// The lock of a model.
#pragma once

#include <atomic>
#include <cstdint>
#include <shared_mutex>
#include <thread>

namespace ltn::models {

// As std::shared_mutex, except that the thread which holds it alone may lock it again, in both ways: a method that runs
// a backward calls hooks of the program, and these may use the model. Lifetime: part of its Model. Thread: any.
class ModelMutex {
 public:
  void lock() {
    if (!is_own()) {
      mutex_.lock();
      owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    ++depth_;
  }
  void unlock() {
    if (--depth_ != 0) return;
    owner_.store(std::thread::id(), std::memory_order_relaxed);
    mutex_.unlock();
  }
  void lock_shared() { is_own() ? lock() : mutex_.lock_shared(); }
  bool try_lock_shared() {
    if (!is_own()) return mutex_.try_lock_shared();
    lock();
    return true;
  }
  void unlock_shared() { is_own() ? unlock() : mutex_.unlock_shared(); }

 private:
  // Only this thread stores its own id.
  bool is_own() const noexcept { return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

  std::shared_mutex mutex_;
  std::atomic<std::thread::id> owner_{};  // that holds it alone
  uint32_t depth_ = 0;                    // how often; of the owner
};

}  // namespace ltn::models
