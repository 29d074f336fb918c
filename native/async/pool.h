// The threads on which recorded ops run, apart from libuv's.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "native/async/mailbox.h"
#include "native/async/strand.h"

namespace ltn::async {

// Steps of one strand that run one after the other.
// Lifetime: made by the environment's JS thread, given to the pool, freed there once its end is in the mailbox.
struct Batch {
  std::shared_ptr<Strand> strand;
  std::vector<Step*> steps;
  std::shared_ptr<Mailbox> mailbox;
  int intra_op_threads = 1;

  // Until the end, the first failure, or until the strand is cancelled. Never throws.
  void run() noexcept;
};

struct PoolStatus {
  size_t threads, running, queued;
};

// Lifetime: the process; never destroyed. At exit the batches that wait are dropped and those that run are waited for
// (stop): lib/async does it before C++ ends, since an op may make static objects whose destructors then come before any
// function that was registered with atexit earlier. That one is for programs that end without telling JavaScript.
// Thread: any.
class Pool {
 public:
  static Pool& process();

  void submit(std::unique_ptr<Batch> batch);
  void set_threads(size_t count);
  PoolStatus status();
  // Nothing runs afterwards, and nothing more begins.
  void stop() noexcept;

 private:
  Pool();
  void work();
  void start_missing();  // with mutex_ held

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Batch>> queue_;  // guarded by mutex_, as all below
  std::vector<std::thread> threads_;
  std::vector<std::thread> ended_;  // those that were too many
  size_t wanted_;
  size_t alive_ = 0;
  size_t running_ = 0;
  bool stopping_ = false;
};

}  // namespace ltn::async
