// One recorded call: its arguments, and later its result.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "native/async/modes.h"
#include "native/async/recording.h"
#include "native/async/sparse_members.h"
#include "native/errors/errors.h"
#include "native/handles/slot_table.h"
#include "native/schema/op_table.h"

namespace ltn::async {

// Lifetime: owned by its Strand. Thread: created and read on the environment's JS thread, run on a pool thread in
// between, or on the JS thread if it is short (short_batch.h). The pool's lock orders the hand-over, the mailbox's lock
// the return; neither side touches it while the other has it.
class Step {
 public:
  // `row`: its name and schema, for messages.
  Step(const OpRow& row, Strand& strand, size_t count);
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // Runs in the modes that the thread has, which are to be modes(), and releases the arguments. Throws what the call
  // throws; then the arguments stay, and it can be run again.
  void run();
  // The arguments for messages: "self: float32[2, 3], mat2: float32[2, 3]".
  std::string describe() const;
  // The modes in which it was recorded; one object for steps in a row with equal ones.
  const ThreadModes& modes() const noexcept { return *modes_; }
  // Whether autocast was on where it was recorded.
  bool is_autocast() const noexcept { return modes_->modes.autocast.any(); }
  // What it may write to besides its arguments.
  virtual handles::Reach reach() const noexcept {
    return (row.mutated & OpRow::kWritesElsewhere) != 0 ? handles::Reach::Gradients : handles::Reach::Arguments;
  }
  virtual bool may_write() const noexcept { return row.mutated != 0; }
  // Releases the result.
  void drop() noexcept {
    result.clear();
    for (at::Tensor& cell : cells) cell.reset();
  }

  const OpRow& row;
  Recording recording;
  torch::jit::Stack arguments;           // fixed size: the recording holds addresses
  torch::jit::Stack result;              // one value per result of the schema
  std::vector<at::Tensor> cells;         // the tensors of the result, for later steps
  std::vector<handles::Handle> mutated;  // handles of its arguments, whose storages may have changed
  uint32_t readers = 0;                  // number of steps still to run that read `cells`
  bool wanted = true;                    // JavaScript takes the result, or a later step may read it
  bool done = false;
  // `done` as seen by the JS thread while other steps run. Only the JS thread may then change the result and the cells:
  // running steps only read the cells.
  bool settled = false;
  bool taken = false;  // JavaScript owns the result
  // Shapes of the results before they are computed: tensors on the meta device, in the order of `cells` or of the
  // result list; undefined if unknown (native/async/meta_results.h). Empty: not inferred yet.
  std::vector<at::Tensor> metas;
  // Why no shape could be inferred: the op's error on meta tensors, which is most often that of the call to come. Null
  // if there was none, or the op cannot run on the meta device.
  std::unique_ptr<std::string> refused;
  // The call may have changed tensors that are not its arguments, such as a model's state. Then it is not run again.
  bool wrote_elsewhere = false;

 protected:
  // Pops the arguments from the stack and pushes the results.
  virtual void call(torch::jit::Stack* stack) = 0;

 private:
  const std::shared_ptr<const ThreadModes> modes_;
};

// An op, called "boxed", through values of one type, so no op needs separate code. native/ops/invoke.h, where calls
// must be fast, has a template per C++ signature.
class OpStep final : public Step {
 public:
  // `is_factory`: it is called below autograd, as BelowAutograd::kFactory (native/ops/below_autograd.h).
  OpStep(const OpRow& row, c10::OperatorHandle op, Strand& strand, bool is_factory);

  const c10::OperatorHandle op;

  // Pops the arguments from the stack, which the op's guard sees first, and pushes the results.
  void call_boxed(torch::jit::Stack* stack) const {
    check_members(row, *stack);
    if (row.check != nullptr) row.check(op, *stack);
    std::optional<at::AutoDispatchBelowADInplaceOrView> guard;
    if (is_factory_) guard.emplace();
    op.callBoxed(stack);
  }

 private:
  const bool is_factory_;

  void call(torch::jit::Stack* stack) override { call_boxed(stack); }
};

// Stands for arguments of a function that is being captured. It is never run: its cells are filled by each replay.
class InputStep final : public Step {
 public:
  InputStep(const OpRow& row, Strand& strand, std::vector<at::Tensor> shapes) : Step(row, strand, 0) {
    cells.resize(shapes.size());
    metas = std::move(shapes);
  }
  handles::Reach reach() const noexcept override { return handles::Reach::Arguments; }
  bool may_write() const noexcept override { return false; }

 private:
  void call(torch::jit::Stack*) override {}
};

// Some of the tensors in another step's result list: a step has room for only so many.
class PartStep final : public Step {
 public:
  // `total`: the number of tensors in the whole list, as known when it was recorded.
  PartStep(const OpRow& row, Strand& strand, Step& list, size_t total, size_t first, size_t count)
      : Step(row, strand, 0), list_(list), total_(total), first_(first) {
    cells.resize(count);
    recording.use(&list);
  }
  handles::Reach reach() const noexcept override { return handles::Reach::Arguments; }
  bool may_write() const noexcept override { return false; }
  const Step& list() const noexcept { return list_; }
  size_t first() const noexcept { return first_; }
  // A tensor that was resized between the call and the op has another number of parts.
  void require_total(size_t size) const {
    if (size == total_) return;
    throw CodedError("ERR_TORCH_RUNTIME", "expected " + std::to_string(total_) +
                                              " results, as when it was called, got " + std::to_string(size) +
                                              ": the shape of an argument changed before the op ran");
  }

 private:
  void call(torch::jit::Stack* stack) override {
    const auto all = list_.result[0].toListRef();
    require_total(all.size());
    for (size_t i = 0; i < cells.size(); ++i) stack->push_back(all[first_ + i]);
  }
  Step& list_;
  const size_t total_, first_;
};

}  // namespace ltn::async
