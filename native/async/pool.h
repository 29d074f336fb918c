// The threads that run recorded ops, separate from libuv's.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace ltn::async {

// Lifetime: passed to the pool, which frees it after it has run or was dropped.
class Job {
 public:
  virtual ~Job() = default;
  // On a thread of the pool.
  virtual void run() noexcept = 0;
  // Requests an early end. Called from any thread while it runs.
  virtual void cancel() noexcept = 0;
  // Called instead of run() when nothing runs any more.
  virtual void drop() noexcept = 0;
  // Called instead of run() when nobody waits for it before it has begun.
  virtual void withdraw() noexcept = 0;
  // Identifies it for withdraw() and abandon(); with 0 neither finds it.
  virtual uint64_t id() const noexcept { return 0; }
  // Whether run() took so little time that a thread which sleeps until the next job would cost more.
  virtual bool was_short() const noexcept { return false; }
};

// A short job takes less time than this, and a thread that may get another one stays awake for the second time.
constexpr std::chrono::microseconds kShortJob(20);
constexpr std::chrono::microseconds kAwake(50);

struct PoolStatus {
  size_t threads, running, queued, abandoned;
};

// Lifetime: the process's pool is never destroyed. At exit, stop() drops the waiting jobs, cancels the running ones and
// waits for them, but not for abandoned ones: those may never end, so the process ends without the destructors of
// static objects, which they may use. lib/async calls it before C++ static destruction: an op may create static
// objects, whose destructors would run before an atexit handler that was registered earlier. The atexit handler covers
// programs that exit without notifying JavaScript. Thread: any.
class Pool {
 public:
  using Start = std::function<std::thread(std::function<void()>)>;

  // Of the process's pool, unless a program sets another number.
  static size_t default_threads();
  // Throws if the system allows too few threads.
  static Pool& process();
  // Null if it was not needed yet.
  static Pool* existing() noexcept;
  // stop() of the process's pool, now or as soon as it is made.
  static void stop_process() noexcept;

  // `start` creates a thread; it may throw.
  explicit Pool(size_t threads, Start start);
  ~Pool() { stop(/*also_abandoned=*/true); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Throws if there is no thread for it and none can be created, or after stop(): the job is then freed and nothing
  // else has changed. `owner` is for end().
  void submit(std::unique_ptr<Job> job, const void* owner = nullptr);
  void set_threads(size_t count);
  // Nobody waits for this job of the owner any more: if it waits in the queue, it leaves it.
  void withdraw(const void* owner, uint64_t id) noexcept;
  // Nobody waits for this job of the owner any more, and it cannot be stopped: if it is running, its thread no longer
  // counts, so that other jobs have as many threads as before once replace_abandoned() or submit() is called. Not at
  // once: of calls whose time is over together, those that wait must not get the threads of those that run.
  void abandon(const void* owner, uint64_t id) noexcept;
  void replace_abandoned() noexcept;
  PoolStatus status();
  // Drops the owner's waiting jobs, cancels the running ones and waits until they end. Not on a thread of the pool; the
  // owner must not submit in the meantime.
  void end(const void* owner) noexcept;
  // Like end() for all owners; nothing starts afterwards. Abandoned jobs go on in threads of their own, which the pool
  // must outlive, unless `also_abandoned`.
  void stop(bool also_abandoned = false) noexcept;

 private:
  struct Entry {
    std::unique_ptr<Job> job;  // null once it has run
    const void* owner;
    uint64_t id = 0;  // of the job
    bool abandoned = false;
    std::thread::id thread{};  // that runs it
  };
  using Entries = std::list<Entry>;  // nodes move between lists without an allocation

  void work();
  // After a short job: waits for the next one without sleep, for a short time.
  void stay_awake(std::unique_lock<std::mutex>& lock);
  // With mutex_ held:
  void start_missing();
  bool is_surplus() const noexcept { return alive_ - abandoned_ > wanted_; }

  const Start start_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable job_gone_;
  Entries queue_;                   // guarded by mutex_, like all below
  Entries running_;                 // a job stays until it is freed
  std::list<std::thread> threads_;  // lists: an ending thread moves its node, without an allocation
  std::list<std::thread> ended_;    // surplus threads
  size_t wanted_;
  size_t alive_ = 0;
  size_t abandoned_ = 0;  // threads among alive_ that run an abandoned job
  bool stopping_ = false;
  std::atomic<uint32_t> submitted_{0};  // changes with each job; read without the mutex
};

}  // namespace ltn::async
