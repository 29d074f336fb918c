// Steps of one strand that the pool runs in sequence.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "native/async/mailbox.h"
#include "native/async/pool.h"
#include "native/async/strand.h"

namespace ltn::async {

// Lifetime: created on the environment's JS thread, passed to the pool, and freed there once its end is in the mailbox;
// a short one (short_batch.h) runs and is freed where it was created.
struct Batch final : Job {
  explicit Batch(std::shared_ptr<Strand> of) : strand(std::move(of)), id_(strand->id) {}

  std::shared_ptr<Strand> strand;
  std::vector<Step*> steps;
  std::shared_ptr<Mailbox> mailbox;
  int intra_op_threads = 1;

  // Runs the steps until the end, the first failure, or until the strand or the batch is cancelled.
  void run() noexcept override;
  // The same on the JS thread, which knows of the end. Returns how long it took.
  std::chrono::nanoseconds run_here() noexcept { return run_steps(/*where_recorded=*/true); }
  void cancel() noexcept override { cancelled_.store(true, std::memory_order_relaxed); }
  void drop() noexcept override;
  // On the JS thread, of a strand that is cancelled: no step has run or failed.
  void withdraw() noexcept override { post_end(); }
  uint64_t id() const noexcept override { return id_; }
  bool was_short() const noexcept override { return was_short_; }
  // Whether a step may write to a tensor visible to the program, also through a view.
  bool writes() const noexcept;
  // The tensors it works on. Call it while the batch belongs to the JS thread.
  handles::Borrowed borrowed() const;

 private:
  std::chrono::nanoseconds run_steps(bool where_recorded) noexcept;
  void drop_from(Step* step) noexcept;
  void free_casts() const noexcept;
  void end() noexcept;
  void post_end() noexcept;

  bool was_short_ = false;
  const uint64_t id_;                   // the strand's id, also when that has been released
  std::atomic<bool> cancelled_{false};  // the strand's own flag is unreachable after release
};

}  // namespace ltn::async
