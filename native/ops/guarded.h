// An op whose arguments are checked before libtorch reads them: the emitted guards of codegen/spec/guards.yaml.
#pragma once

#include <ATen/NamedTensorUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace ltn {

// How large the last dimension is; 1 for a tensor without dimensions.
inline int64_t last_size(const at::Tensor& tensor) { return tensor.dim() == 0 ? 1 : tensor.size(-1); }

// Whether it is a matrix whose columns are `parts` parts of the same size.
inline bool has_columns_of(const at::Tensor& tensor, int64_t parts) {
  return tensor.dim() == 2 && tensor.size(1) % parts == 0;
}

// Whether it has room for 30 direction numbers for each dimension of a Sobol sequence.
inline bool is_sobol_state(const at::Tensor& tensor, int64_t dimension) {
  return tensor.dim() == 2 && dimension >= 0 && tensor.size(0) >= dimension && tensor.size(1) >= 30;
}

// Whether the points have numbers of at most 30 bits, as many as a state has direction numbers.
inline bool are_sobol_numbers(int64_t generated, int64_t more) {
  constexpr int64_t kMax = int64_t{1} << 30;
  return generated >= 0 && generated < kMax && more < kMax - generated;
}

// `Tensors` is a TensorList, or the list of tensors that later releases use.
template <class Tensors>
bool all_have_dimensions(const Tensors& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.dim() == 0) return false;
  }
  return true;
}

// Check::check throws c10::Error for arguments that the kernel of `function` does not survive.
template <auto function, class Check>
struct Guarded;

template <class R, class... A, R (*function)(A...), class Check>
struct Guarded<function, Check> {
  // With the signature of `function`.
  static R call(A... arguments) {
    Check::check(arguments...);
    return function(std::forward<A>(arguments)...);
  }

  // For a recorded op, which is called through the dispatcher (OpRow::check).
  static void check_boxed(const c10::OperatorHandle& op, const std::vector<c10::IValue>& stack) {
    // One in the process, shared by all threads; it does not change.
    static const auto kernel = c10::KernelFunction::makeFromUnboxedRuntimeFunction(&check);
    std::vector<c10::IValue> arguments = stack;
    kernel.callBoxed(op, c10::DispatchKeySet(), &arguments);
  }

 private:
  static void check(A... arguments) { Check::check(arguments...); }
};

}  // namespace ltn
