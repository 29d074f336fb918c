// Ops recorded to run in order on a pool thread: `torch.run`, and `torch.async` with one op.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "native/async/step.h"

namespace ltn::async {

// Codes of pending results, used in place of handles: -(2^32 + strand * 2^20 + step * 16 + cell).
constexpr double kPending = -4294967296.0;
constexpr int kCellBits = 4, kPositionBits = 20;  // position: step and cell within a strand

// The meta tensor of an existing tensor. The weak reference keeps its address from being reused.
struct MetaTensor {
  std::optional<c10::weak_intrusive_ptr<c10::TensorImpl>> of;
  at::Tensor tensor;
};

// Lifetime: shared by its environment and the job that runs it. Thread: as Step; `cancelled` from any.
class Strand {
 public:
  explicit Strand(uint64_t id) : id(id) {}

  // The code of the first tensor of its result.
  double add(std::unique_ptr<Step> step);
  // The step of a code and the tensor in its cell, or null if it is not from this strand.
  at::Tensor* cell(double code, Step** step);
  Step* step(size_t index) { return index < steps_.size() ? steps_[index].get() : nullptr; }
  size_t size() const noexcept { return steps_.size(); }
  // The steps before this index are running or have run.
  size_t submitted() const noexcept { return submitted_; }

  // The steps recorded since the last batch. `wanted` null: all results stay.
  std::vector<Step*> next_batch(const std::vector<uint32_t>* wanted);
  // The steps of a failed batch from the failed one on.
  std::vector<Step*> rest_of_batch();
  // The modes of the thread that calls it, which is recording.
  std::shared_ptr<const ThreadModes> modes_now();
  // Releases computed results that nobody will read. Not while a batch is running.
  void drop_unwanted() noexcept;

  const uint64_t id;
  std::atomic<bool> cancelled{false};
  // It belongs to torch.capture, which refuses what a replay would not repeat.
  bool captures = false;
  // For torch.capture: the first refusal, which the function may have caught, and the existing tensors whose properties
  // it has read.
  std::string refused;
  std::unordered_map<const void*, at::Tensor> examined;
  // Of the last batch:
  Step* failed = nullptr;
  std::exception_ptr error;
  std::vector<std::string> warnings;
  // Steps that have not run yet write to tensors, or change their shapes, so what JavaScript reads now differs from
  // what it would read after they run.
  bool writes = false, reshapes = false;
  // Meta tensors of existing tensors, for steps recorded since the last batch.
  std::unordered_map<const void*, MetaTensor> metas;

 private:
  std::shared_ptr<const ThreadModes> modes_;  // of the last step
  std::deque<std::unique_ptr<Step>> steps_;
  size_t submitted_ = 0;
};

}  // namespace ltn::async
