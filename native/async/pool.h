// The threads on which recorded ops run, apart from libuv's.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace ltn::async {

// Lifetime: given to the pool, freed there when it has run or was dropped.
class Job {
 public:
  virtual ~Job() = default;
  // On a thread of the pool.
  virtual void run() noexcept = 0;
  // While it runs, from any thread: the end is to come as soon as it can.
  virtual void cancel() noexcept = 0;
  // In place of run(), where nothing runs any more.
  virtual void drop() noexcept = 0;
};

struct PoolStatus {
  size_t threads, running, queued;
};

// Lifetime: that of the process is never destroyed. At exit the jobs that wait are dropped and those that run are
// cancelled and waited for (stop): lib/async does it before C++ ends, since an op may make static objects whose
// destructors then come before any function that was registered with atexit earlier. That one is for programs that end
// without telling JavaScript. Thread: any.
class Pool {
 public:
  using Start = std::function<std::thread(std::function<void()>)>;

  static Pool& process();

  // `start` makes a thread; it may throw.
  explicit Pool(size_t threads, Start start);
  ~Pool() { stop(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Throws where there is no thread for it and none can be made, or after stop(): then the job is gone and nothing else
  // has changed. `owner` is for end().
  void submit(std::unique_ptr<Job> job, const void* owner = nullptr);
  void set_threads(size_t count);
  PoolStatus status();
  // Of the owner's jobs nothing runs afterwards and none is left: those that wait are dropped, those that run are
  // cancelled and waited for. Not on a thread of the pool; the owner submits nothing meanwhile.
  void end(const void* owner) noexcept;
  // Nothing runs afterwards, and nothing more begins.
  void stop() noexcept;

 private:
  struct Entry {
    std::unique_ptr<Job> job;  // null once it has run
    const void* owner;
  };
  using Entries = std::list<Entry>;  // whose nodes move to another list without an allocation

  void work();
  void start_missing();  // with mutex_ held

  const Start start_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable job_gone_;
  Entries queue_;                   // guarded by mutex_, as all below
  Entries running_;                 // a job stays until it is freed
  std::list<std::thread> threads_;  // lists: a thread that ends moves itself, which must not need memory
  std::list<std::thread> ended_;    // those that were too many
  size_t wanted_;
  size_t alive_ = 0;
  bool stopping_ = false;
};

}  // namespace ltn::async
