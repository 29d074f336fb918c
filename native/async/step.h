// One recorded call: its arguments, and later its result.
#pragma once

#include <ATen/ThreadLocalState.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <string>
#include <vector>

#include "native/async/recording.h"
#include "native/handles/slot_table.h"
#include "native/op_table.h"

namespace ltn::async {

// Lifetime: owned by its Strand.
// Thread: made and read on the environment's JS thread, run on a thread of the pool in between. The pool's lock orders
// the hand-over and the mailbox's the way back; neither side touches it in the other's time.
class Step {
 public:
  // `row`: its name and schema, for messages.
  Step(const OpRow& row, Strand& strand, size_t count) : row(row), recording(strand), arguments(count) {}
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // Runs with the modes of the thread that recorded it, and lets go of the arguments. Throws what the call throws;
  // then the arguments stay, and it can be run again.
  void run();
  // "self: float32[2, 3], mat2: float32[2, 3]": of the arguments, for messages.
  std::string describe() const;
  // What it may write to beside its arguments.
  virtual handles::Reach reach() const noexcept {
    return (row.mutated & OpRow::kWritesElsewhere) != 0 ? handles::Reach::Gradients : handles::Reach::Arguments;
  }
  virtual bool may_write() const noexcept { return row.mutated != 0; }
  // Lets go of the result.
  void drop() noexcept {
    result.clear();
    for (at::Tensor& cell : cells) cell.reset();
  }

  const OpRow& row;
  Recording recording;
  torch::jit::Stack arguments;           // does not grow: the recording holds addresses
  torch::jit::Stack result;              // one value for each result of the schema
  std::vector<at::Tensor> cells;         // the tensors of the result, for later steps
  std::vector<handles::Handle> mutated;  // handles of its arguments, whose storages may have changed
  uint32_t readers = 0;                  // steps still to run that read `cells`
  bool wanted = true;                    // JavaScript takes the result, or a later step may come that reads it
  bool done = false;
  // As `done`, for the JS thread while other steps run. Its result and cells are the JS thread's alone to change then:
  // steps that run only read the cells.
  bool settled = false;
  bool taken = false;  // the result is JavaScript's
  // What is known of the results before they are there: tensors on the meta device, in the order of `cells` or of the
  // list that is the result; an undefined one where nothing is known (native/async/shadows.h). Empty: nobody has asked
  // yet.
  std::vector<at::Tensor> shadows;
  // The call has changed, or may have, what lies behind handles that are none of its arguments: a model's state. It is
  // not run again, then.
  bool wrote_elsewhere = false;

 protected:
  // Takes the arguments off the stack and leaves the results.
  virtual void call(torch::jit::Stack* stack) = 0;

 private:
  const at::ThreadLocalState modes_;
};

// An op, called "boxed", through values of one type, so that no op costs code of its own; native/invoke.h, where a call
// must be fast, has a template per C++ signature.
class OpStep final : public Step {
 public:
  OpStep(const OpRow& row, c10::OperatorHandle op, Strand& strand)
      : Step(row, strand, op.schema().arguments().size()), op(std::move(op)) {}

  const c10::OperatorHandle op;

 private:
  void call(torch::jit::Stack* stack) override { op.callBoxed(stack); }
};

// Some of the tensors in the list that another step gives: a step has room for so many.
class PartStep final : public Step {
 public:
  PartStep(const OpRow& row, Strand& strand, Step& list, size_t first, size_t count)
      : Step(row, strand, 0), list_(list), first_(first) {
    cells.resize(count);
    recording.use(&list);
  }
  handles::Reach reach() const noexcept override { return handles::Reach::Arguments; }
  bool may_write() const noexcept override { return false; }

 private:
  void call(torch::jit::Stack* stack) override {
    const auto all = list_.result[0].toListRef();
    for (size_t i = 0; i < cells.size(); ++i) stack->push_back(all[first_ + i]);
  }
  Step& list_;
  const size_t first_;
};

}  // namespace ltn::async
