#include "native/async/pool.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "native/async/engine_leftovers.h"
#include "native/compat.h"

namespace ltn::async {
namespace {

// Gathers what the ops of a batch warn of. Thread: the one of the pool that runs the batch.
class BatchWarnings final : public compat::WarningHandler {
 public:
  explicit BatchWarnings(std::vector<std::string>& texts) : texts_(texts), before_(compat::warning_handler()) {
    compat::set_warning_handler(this);
  }
  ~BatchWarnings() { compat::set_warning_handler(before_); }
  BatchWarnings(const BatchWarnings&) = delete;
  BatchWarnings& operator=(const BatchWarnings&) = delete;

 private:
  void warned(const std::string& text) override {
    constexpr size_t kMost = 64;  // a loop inside an op may warn a thousand times
    if (texts_.size() < kMost) texts_.push_back(text);
  }
  std::vector<std::string>& texts_;
  c10::WarningHandler* const before_;
};

// An op may use as many threads as on the thread that recorded it; the setting is each thread's own with OpenMP.
void take_over_threads(int count) {
  if (at::get_num_threads() != count) at::set_num_threads(count);
}

}  // namespace

void Batch::run() noexcept {
  Step* now = nullptr;
  try {
    take_over_threads(intra_op_threads);
    const BatchWarnings warnings(strand->warnings);
    for (Step* step : steps) {
      if (strand->cancelled.load(std::memory_order_relaxed)) break;
      now = step;
      step->run();
    }
  } catch (...) {  // everything: it is thrown again on the JS thread, as that op's
    strand->failed = now;
    strand->error = std::current_exception();
    if (now != nullptr && (now->row.mutated & OpRow::kWritesElsewhere) != 0) free_engine_leftovers();  // a backward
  }
  mailbox->post(strand->id);
}

Pool& Pool::process() {
  static auto* pool = new Pool;  // never destroyed: its threads may outlive static destructors otherwise
  return *pool;
}

Pool::Pool() {
  at::set_num_threads(at::get_num_threads());  // makes libtorch's own pool, whose destructor is to come after stop()
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  wanted_ = std::max<size_t>(1, cores / static_cast<size_t>(std::max(1, at::get_num_threads())));
  std::atexit([] { process().stop(); });
}

void Pool::start_missing() {
  for (std::thread& thread : ended_) thread.join();  // at its last line
  ended_.clear();
  while (alive_ < wanted_ && alive_ < running_ + queue_.size()) {
    threads_.emplace_back([this] { work(); });
    ++alive_;
  }
}

void Pool::submit(std::unique_ptr<Batch> batch) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(batch));
    start_missing();
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

PoolStatus Pool::status() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {wanted_, running_, queue_.size()};
}

void Pool::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_ && alive_ <= wanted_) {
    if (queue_.empty()) {
      wake_.wait(lock);
      continue;
    }
    std::unique_ptr<Batch> batch = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    lock.unlock();
    batch->run();
    batch.reset();
    lock.lock();
    --running_;
  }
  --alive_;
  if (stopping_) return;  // stop() joins it
  const auto is_this = [](const std::thread& thread) { return thread.get_id() == std::this_thread::get_id(); };
  const auto self = std::find_if(threads_.begin(), threads_.end(), is_this);
  ended_.push_back(std::move(*self));
  threads_.erase(self);
}

void Pool::stop() noexcept {
  std::deque<std::unique_ptr<Batch>> dropped;
  std::vector<std::thread> threads;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    dropped.swap(queue_);
    threads.swap(threads_);
    for (std::thread& thread : ended_) threads.push_back(std::move(thread));
    ended_.clear();
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace ltn::async
