// Callbacks into JavaScript from a backward that runs on other threads. libtorch runs the nodes on CUDA on a thread of
// the device, and PyTorch runs hooks in Python there; JavaScript has one thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace ltn::autograd {

// Of one environment. While its JS thread waits for a backward in run(), threads of the engine let it run callbacks. A
// backward that such a callback begins runs on the thread that waits for the callback: the engine has no other thread
// for the nodes on that device. Lifetime: shared by the JS thread, its callbacks and the threads of its backwards, some
// of which may outlive a backward that failed. Thread: see each function.
class CallbackQueue : public std::enable_shared_from_this<CallbackQueue> {
 public:
  // The queue of the calling JS thread; made at the first call.
  static const std::shared_ptr<CallbackQueue>& of_thread();
  // Whether it is the queue of the calling thread.
  bool is_of_thread() const noexcept;
  // Whether this libtorch is built for a device whose nodes run on other threads. Does not check whether the machine
  // has one.
  static bool is_linked() noexcept;
  // Whether a backward that begins on this thread may run this thread's callbacks from another thread.
  static bool is_needed_on_thread();

  // The queue of the JS thread that waits in run() for the backward of which this thread runs a node; null if none
  // waits.
  static std::shared_ptr<CallbackQueue> of_backward();

  CallbackQueue() = default;
  CallbackQueue(const CallbackQueue&) = delete;
  CallbackQueue& operator=(const CallbackQueue&) = delete;

  // On the JS thread: runs `backward` on another thread, with this thread's gradient modes, and meanwhile what other
  // threads request. Rethrows.
  void run(const std::function<void()>& backward);
  // On another thread: `body` runs on the JS thread, with this thread's gradient modes; rethrows what it throws. False,
  // and `body` has not run, if the JS thread does not wait in run() for the backward of this thread.
  bool request(const std::function<void()>& body);

  // Counts the callbacks. Any thread.
  void add() noexcept { callbacks_.fetch_add(1, std::memory_order_relaxed); }
  void remove() noexcept { callbacks_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  struct Job;
  struct Request;
  struct Waiting;
  static const Waiting* waiting_of_thread();
  // The request that the innermost run() may serve now, or null.
  Request* next() const;
  void serve(std::unique_lock<std::mutex>& lock, Request* request);

  const std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<int64_t> callbacks_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<Request*> requests_;
  Request* served_ = nullptr;  // the innermost one that the JS thread runs
  std::thread::id starter_;    // the thread that run() has started, for the outermost backward
  int depth_ = 0;              // calls of run() in progress
};

}  // namespace ltn::autograd
