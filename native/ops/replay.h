// The ops of a captured function (torch.capture), to be called again on other tensors.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "native/async/strand.h"
#include "native/convert/call.h"
#include "native/ops/typed_call.h"

namespace ltn {

// Lifetime: shared by its token (native/exports/capture.cpp) and the replays in progress; it owns the strand that was
// recorded, and with it the tensors of the closure. Does not change after build(). Thread: the environment's JS thread.
class Replay {
 public:
  // `inputs`: the tensors that the recorded function was called with; `outputs`: codes of its results; `codes` of the
  // strand. Throws CodedError (ERR_TORCH_CAPTURE) if replays could differ from calls.
  static std::shared_ptr<const Replay> build(Call& call, std::shared_ptr<async::Strand> strand,
                                             const std::vector<at::Tensor>& inputs, const std::vector<double>& outputs);

  // Whether a call with these tensors, in the current modes, would record the same ops: numbers, dtypes, sizes, devices
  // and which of them share memory, and whether the tensors of the closure still have their sizes, dtypes and devices,
  // and those whose properties the function read also their strides, requiresGrad and names.
  bool fits(const std::vector<at::Tensor>& inputs) const;
  // Calls the ops. Throws what an op throws; `*failed` is then its step.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs, const async::OpStep** failed) const;

  // The tensors that the ops use and that are neither inputs nor results.
  const std::vector<at::Tensor>& constants() const noexcept { return constants_; }
  // Their handles, if an op may write to one; those that were disposed are stale.
  const std::vector<handles::Handle>& written() const noexcept { return written_; }
  bool writes() const noexcept { return writes_; }
  bool writes_elsewhere() const noexcept { return writes_elsewhere_; }

 private:
  friend class ReplayBuilder;

  // A result of an earlier op, or an input, in an argument. `last`: nothing reads it afterwards.
  struct Operand {
    uint32_t argument, from;
    int32_t position;  // in a list, else -1
    bool last;
  };
  // Tensors of a result, at `first` of it. `step`: of a list, whose length it checks.
  struct Part {
    size_t first;
    uint32_t to, count;
    const async::PartStep* step;
  };
  struct Op {
    const async::OpStep* step;
    std::vector<Operand> operands;
    std::vector<Part> results;
    bool is_list;    // the result is one list
    bool own_modes;  // recorded in other modes than those of the call
    // A call without a stack, if there is one, and its arguments. `tensors`: operands by number, -1 for what is in
    // `fixed`.
    TypedCall typed;
    c10::SmallVector<int32_t, kTypedTensors> tensors;
    c10::SmallVector<at::Tensor, kTypedTensors> fixed;
    c10::SmallVector<at::Scalar, kTypedScalars> scalars;
  };
  struct Input {
    c10::SmallVector<int64_t, 5> sizes;
    c10::ScalarType dtype;
    c10::Device device;
    c10::Layout layout;
    size_t same_memory_as;  // the first input with the same storage
  };

  // A tensor whose properties the function read.
  struct Examined {
    explicit Examined(const at::Tensor& of);
    bool is_unchanged() const;

    at::Tensor tensor;
    Input was;
    c10::SmallVector<int64_t, 5> strides;
    bool requires_grad;
    std::vector<std::string> names;  // of the dimensions; empty if none has one
  };

  // Calls of one op.
  static void add_typed_call(Op* op);
  static at::Tensor call_typed(const Op& op, std::vector<at::Tensor>* registers);
  static void call_boxed(const Op& op, std::vector<at::Tensor>* registers, torch::jit::Stack* stack);

  static Input describe(const at::Tensor& tensor);
  static std::vector<Input> describe(const std::vector<at::Tensor>& inputs);
  static bool is_like(const at::Tensor& tensor, const Input& input);

  std::shared_ptr<async::Strand> strand_;
  async::CallModes modes_ = async::CallModes::now();
  std::vector<Input> inputs_;
  std::vector<Op> ops_;
  std::vector<uint32_t> outputs_;
  std::vector<bool> kept_;  // by register: read by an op or returned
  uint32_t registers_ = 0;
  std::vector<at::Tensor> constants_;
  std::vector<Input> constants_were_;  // before the recorded ops ran; without same_memory_as
  std::vector<Examined> examined_;
  std::vector<handles::Handle> written_;
  bool writes_ = false, writes_elsewhere_ = false;
};

// Whether a result of the step may share its memory with an argument.
bool may_be_view(const async::Step& step);

}  // namespace ltn
