// One call from JavaScript in progress.
#pragma once

#include <c10/util/SmallVector.h>
#include <node_api.h>

#include <cstddef>
#include <forward_list>
#include <string>

#include "native/env/env_state.h"
#include "native/errors/js_errors.h"

namespace ltn {

// Lifetime: the native stack frame of the call. Thread: the environment's JS thread.
class Call : public CallFrame {
 public:
  Call(napi_env env, const BoundOp& op, const napi_value* arguments, size_t count, size_t given)
      : CallFrame{env, arguments, count, given, op.state->current_call()},
        state(*op.state),
        op(op),
        row(op.row),
        is_op(op.is_op) {
    state.set_current_call(this);
  }
  ~Call() { state.set_current_call(outer); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // The live tensor of a handle number. The reference is valid during the call (SlotTable::Busy).
  at::Tensor& tensor(napi_value value, size_t index) {
    double number = 0;
    if (napi_get_value_double(env, value, &number) != napi_ok || !(number > 0 && number < handles::kHandleEnd)) {
      return number_tensor(value, index, number);
    }
    return tensor_of(static_cast<handles::Handle>(number), index);
  }

  at::Tensor& tensor_of(handles::Handle handle, size_t index) {
    at::Tensor* found = state.slots().use(handle);
    if (found == nullptr) throw DisposedTensor(index, handle);
    // Kernels take the indices of a sparse tensor for offsets without looking at them again.
    if (found->unsafeGetTensorImpl()->layout() != c10::kStrided && is_op) refuse_wrong_members(*found, index);
    if ((row->mutated >> index & 1) != 0) {
      if (index > 0 && is_op && found->_is_zerotensor()) refuse_output(index);
      mutated.push_back(handle);
    }
    return *found;
  }

  // A zero-dimensional tensor for a number passed in place of a tensor, "wrapped" as in PyTorch's parser, so that it
  // does not promote; or the result of an op that was recorded and has not run. The first comes as an array of one
  // value (lib/call/convert.ts), or in Flags::ints, at the position given by `code`, -1.5 and down (numberTensor in
  // lib/call/packed.ts). Lives as long as the call. Throws BadArgument for everything else.
  at::Tensor& number_tensor(napi_value value, size_t index, double code);

  // The innermost call in progress, or null. Every frame of an environment is a Call's.
  static Call* current(const EnvState& state) { return static_cast<Call*>(state.current_call()); }

  // Throws BadArgument. An `out` of zeros without memory: libtorch refuses it in most ops, and some write there.
  [[noreturn]] static void refuse_output(size_t index);

  // Throws BadArgument for a sparse tensor whose indices the program has changed to ones outside of it.
  void refuse_wrong_members(const at::Tensor& tensor, size_t index) const;

  EnvState& state;
  const BoundOp& op;
  const OpRow* const row;
  const bool is_op;                              // of the op table, not one of the library's own functions
  c10::SmallVector<handles::Handle, 4> mutated;  // handles whose storages may have changed
  std::forward_list<at::Tensor> numbers;         // of number_tensor(); they must not move
  const std::string* inputs = nullptr;           // for messages, if the arguments are no longer available
};

using Body = napi_value (*)(Call&);

// Runs `body` as the op of `info`: finalizers wait, C++ exceptions become JS errors, changes behind handles are
// reconciled, and external memory is reported to V8 at the end.
napi_value run_guarded(napi_env env, napi_callback_info info, napi_value* arguments, size_t count, Body body) noexcept;

}  // namespace ltn
