#include "native/async/pool.h"

#include <ATen/Parallel.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace ltn::async {
namespace {

void end_at_exit() {
#ifdef __GLIBC__
  on_exit(
      [](int status, void* /*none*/) {
        Pool& pool = *Pool::existing();
        pool.stop();
        if (pool.status().abandoned > 0) _exit(status);
      },
      nullptr);
#else
  std::atexit([] { Pool::existing()->stop(/*also_abandoned=*/true); });  // the status of the exit is not known
#endif
}

// Whether so many threads can be created now. libtorch's pool (pthreadpool) waits for ever for one that the system
// refuses.
void require_threads(size_t count) {
  std::mutex mutex;
  std::condition_variable wake;
  bool done = false;
  std::vector<std::thread> probes;
  const auto end = [&] {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      done = true;
    }
    wake.notify_all();
    for (std::thread& probe : probes) probe.join();
  };
  try {
    probes.reserve(count);
    while (probes.size() < count) {
      probes.emplace_back([&] {
        std::unique_lock<std::mutex> lock(mutex);
        wake.wait(lock, [&] { return done; });
      });
    }
  } catch (const std::exception& error) {  // a limit of the system, or out of memory
    const std::string started = std::to_string(probes.size());
    end();
    throw std::runtime_error("expected the " + std::to_string(count) + " threads of libtorch's pool, got " + started +
                             ": " + error.what() + " (see ulimit -u and the limit of processes of the container)");
  }
  end();
}

// Of the process, once it was needed; it is never destroyed.
std::atomic<Pool*> made_pool{nullptr};
// Nothing starts any more, also in a pool that is made later.
std::atomic<bool> has_stopped{false};

}  // namespace

size_t Pool::default_threads() {
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  return std::max<size_t>(1, cores / static_cast<size_t>(std::max(1, at::get_num_threads())));
}

Pool& Pool::process() {
  static Pool* const pool = [] {
    require_threads(static_cast<size_t>(at::get_num_threads()));
    at::set_num_threads(at::get_num_threads());  // creates libtorch's own pool, to be destroyed after stop()
    // Never destroyed: its threads may outlive static destructors.
    auto* made = new Pool(default_threads(), [](std::function<void()> body) { return std::thread(std::move(body)); });
    made_pool.store(made);
    end_at_exit();
    if (has_stopped.load()) made->stop();
    return made;
  }();
  return *pool;
}

Pool* Pool::existing() noexcept { return made_pool.load(); }

void Pool::stop_process() noexcept {
  has_stopped.store(true);
  if (Pool* const pool = existing()) pool->stop();
}

Pool::Pool(size_t threads, Start start) : start_(std::move(start)), wanted_(threads) {}

void Pool::start_missing() {
  for (std::thread& thread : ended_) thread.join();  // already at their last line
  ended_.clear();
  while (alive_ - abandoned_ < wanted_ && alive_ < running_.size() + queue_.size()) {
    std::list<std::thread> made;
    try {
      made.emplace_back();
      made.back() = start_([this] { work(); });
    } catch (const std::exception&) {  // out of memory or a system limit: existing threads do the work
      if (alive_ > abandoned_) return;
      throw;
    }
    threads_.splice(threads_.end(), made);
    ++alive_;
  }
}

void Pool::submit(std::unique_ptr<Job> job, const void* owner) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) throw std::runtime_error("the process is ending: nothing runs on other threads any more");
    const uint64_t id = job->id();
    queue_.push_back({std::move(job), owner, id});
    submitted_.fetch_add(1, std::memory_order_relaxed);
    try {
      start_missing();
    } catch (const std::exception&) {  // no thread would ever run it
      queue_.pop_back();
      throw;
    }
  }
  wake_.notify_one();
}

void Pool::set_threads(size_t count) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    wanted_ = count;
    start_missing();
  }
  wake_.notify_all();
}

void Pool::withdraw(const void* owner, uint64_t id) noexcept {
  Entries withdrawn;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto is_it = [&](const Entry& entry) { return entry.owner == owner && entry.id == id; };
    const auto entry = std::find_if(queue_.begin(), queue_.end(), is_it);
    if (entry != queue_.end()) withdrawn.splice(withdrawn.end(), queue_, entry);
  }
  for (const Entry& entry : withdrawn) entry.job->withdraw();
}

void Pool::abandon(const void* owner, uint64_t id) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto is_it = [&](const Entry& entry) { return entry.owner == owner && entry.id == id; };
  const auto entry = std::find_if(running_.begin(), running_.end(), is_it);
  if (entry == running_.end() || entry->abandoned) return;
  entry->abandoned = true;
  ++abandoned_;
}

void Pool::replace_abandoned() noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      start_missing();
    } catch (const std::exception&) {
      // No thread can be made now. The next submit() tries again, and waiting jobs run when this one has ended.
    }
  }
  wake_.notify_all();
}

PoolStatus Pool::status() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {wanted_, running_.size(), queue_.size(), abandoned_};
}

void Pool::stay_awake(std::unique_lock<std::mutex>& lock) {
  const uint32_t submitted = submitted_.load(std::memory_order_relaxed);
  lock.unlock();
  const auto end = std::chrono::steady_clock::now() + kAwake;
  while (submitted_.load(std::memory_order_relaxed) == submitted && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  lock.lock();
}

void Pool::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  bool was_short = false;
  while (!stopping_ && !is_surplus()) {
    if (queue_.empty()) {
      if (std::exchange(was_short, false)) {
        stay_awake(lock);
        continue;
      }
      wake_.wait(lock);
      continue;
    }
    const auto entry = queue_.begin();
    running_.splice(running_.end(), queue_, entry);
    entry->thread = std::this_thread::get_id();
    lock.unlock();
    entry->job->run();
    was_short = entry->job->was_short();
    lock.lock();
    std::unique_ptr<Job> job = std::move(entry->job);  // cancel() no longer finds it
    lock.unlock();
    job.reset();
    lock.lock();
    if (entry->abandoned) --abandoned_;
    running_.erase(entry);
    job_gone_.notify_all();
  }
  --alive_;
  if (stopping_) return;  // stop() joins it
  const auto is_this = [](const std::thread& thread) { return thread.get_id() == std::this_thread::get_id(); };
  const auto self = std::find_if(threads_.begin(), threads_.end(), is_this);
  ended_.splice(ended_.end(), threads_, self);
}

void Pool::end(const void* owner) noexcept {
  Entries dropped;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    for (auto entry = queue_.begin(); entry != queue_.end();) {
      const auto next = std::next(entry);
      if (entry->owner == owner) dropped.splice(dropped.end(), queue_, entry);
      entry = next;
    }
    for (const Entry& entry : running_) {
      if (entry.owner == owner && entry.job != nullptr) entry.job->cancel();
    }
    const auto is_owners = [owner](const Entry& entry) { return entry.owner == owner; };
    job_gone_.wait(lock, [&] { return std::none_of(running_.begin(), running_.end(), is_owners); });
  }
  for (const Entry& entry : dropped) entry.job->drop();
}

void Pool::stop(bool also_abandoned) noexcept {
  Entries dropped;
  std::list<std::thread> threads;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    dropped.swap(queue_);
    for (const Entry& entry : running_) {
      if (entry.job != nullptr) entry.job->cancel();
    }
    threads.splice(threads.end(), threads_);
    threads.splice(threads.end(), ended_);
    for (const Entry& entry : running_) {
      if (also_abandoned || !entry.abandoned) continue;
      const auto is_its = [&](const std::thread& thread) { return thread.get_id() == entry.thread; };
      const auto thread = std::find_if(threads.begin(), threads.end(), is_its);
      if (thread == threads.end()) continue;  // an earlier stop() has detached it
      thread->detach();
      threads.erase(thread);
    }
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
  for (const Entry& entry : dropped) entry.job->drop();
}

}  // namespace ltn::async
