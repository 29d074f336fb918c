// Ops that were recorded to run in order on a thread of the pool: `torch.run`, and `torch.async` with one op.
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

// Codes of results that are not there yet, which stand where handles do: -(2^32 + strand * 2^20 + step * 16 + cell).
constexpr double kPending = -4294967296.0;
constexpr int kCellBits = 4, kStepBits = 20;

// What stands for a tensor that is there on the meta device. The weak reference keeps its address from being another's.
struct Shadow {
  std::optional<c10::weak_intrusive_ptr<c10::TensorImpl>> of;
  at::Tensor tensor;
};

// Lifetime: shared by its environment and by the job that runs it. Thread: as Step; `cancelled` from any.
class Strand {
 public:
  explicit Strand(uint64_t id) : id(id) {}

  // The code of the first tensor of its result.
  double add(std::unique_ptr<Step> step);
  // The step of a code and the tensor in its cells, or null when it is not this strand's.
  at::Tensor* cell(double code, Step** step);
  Step* step(size_t index) { return index < steps_.size() ? steps_[index].get() : nullptr; }
  size_t size() const noexcept { return steps_.size(); }
  // Those before are under way, or have run.
  size_t submitted() const noexcept { return submitted_; }

  // The steps that were recorded since the last batch. `wanted` null: all results stay.
  std::vector<Step*> next_batch(const std::vector<uint32_t>* wanted);
  // A batch that failed goes on with the step that did.
  std::vector<Step*> rest_of_batch();
  // Lets go of results that are there and that nobody will read. Not while a batch is under way.
  void drop_unwanted() noexcept;

  const uint64_t id;
  std::atomic<bool> cancelled{false};
  // Of the last batch:
  Step* failed = nullptr;
  std::exception_ptr error;
  std::vector<std::string> warnings;
  // Steps that have not run yet write to tensors, or change their shapes. What JavaScript reads at once is not what it
  // would be if they had run.
  bool writes = false, reshapes = false;
  // Of tensors that are there, for steps that were recorded since the last batch: their place on the meta device.
  std::unordered_map<const void*, Shadow> shadows;

 private:
  std::deque<std::unique_ptr<Step>> steps_;
  size_t submitted_ = 0;
};

}  // namespace ltn::async
