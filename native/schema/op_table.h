// The table of all ops that JavaScript can call by number: one row per overload, emitted by codegen.
#pragma once

#include <node_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace c10 {
struct IValue;
class OperatorHandle;
}  // namespace c10

namespace ltn {

class EnvState;

using AnyFunction = void (*)();
// Throws c10::Error for boxed arguments that the op's guard refuses.
using BoxedCheck = void (*)(const c10::OperatorHandle&, const std::vector<c10::IValue>&);

// One overload. All rows are constant data.
struct OpRow {
  // In `mutated`: the op also writes to tensors that are not its arguments (autograd's engine).
  static constexpr uint64_t kWritesElsewhere = uint64_t{1} << 63;
  // The op takes a storage without comparing it with the shape (set_).
  static constexpr uint64_t kMayOutgrow = uint64_t{1} << 62;

  const char* name;            // "aten::add.Tensor"
  const char* schema;          // "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
  napi_callback invoke;        // Invoker<signature>::call
  AnyFunction function;        // at::_ops::add_Tensor::call, with the signature known to `invoke`
  uint64_t mutated;            // bit i: argument i is written to; its storage may change or grow
  BoxedCheck check = nullptr;  // of an op with a guard; `function` checks by itself
  // at::_ops::add_Tensor::redispatch, which takes a c10::DispatchKeySet and the arguments of `function`, and checks
  // them as that does; null for an op that writes to another argument than the first or takes no tensor.
  AnyFunction redispatch = nullptr;

  // The arguments whose shapes the op may change, as bits. In-place ops write to their first argument and keep its
  // shape, but for resize_ and resize_as_; an `out` is never the first.
  uint64_t resized() const noexcept {
    const uint64_t written = mutated & ~(kWritesElsewhere | kMayOutgrow);
    if ((written & 1) == 0) return written;
    return std::strncmp(name, "aten::resize_", sizeof("aten::resize_") - 1) == 0 ? written : written & ~uint64_t{1};
  }
};

// How an op may be called where nothing requires a gradient (native/ops/below_autograd.h).
enum class BelowAutograd : uint8_t;

// The data of a JS function: the row and the environment it was created in.
struct BoundOp {
  EnvState* state;
  const OpRow* row;
  bool is_op;                              // of the op table
  mutable BelowAutograd below_autograd{};  // kUnknown until the first call; read and written on the JS thread
};

// Emitted: native/generated/op_table.cpp.
extern const OpRow* const op_rows[];
extern const size_t op_count;

}  // namespace ltn
