// An op whose arguments are checked before libtorch reads them: the emitted guards of codegen/spec/guards.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <utility>
#include <vector>

#include "native/ops/division.h"
#include "native/ops/kernel_conditions.h"
#include "native/ops/result_counts.h"
#include "native/ops/segments.h"
#include "native/ops/window_conditions.h"

namespace ltn {

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

  // With the signature of `redispatch`, which is that of the same op.
  template <R (*redispatch)(c10::DispatchKeySet, A...)>
  static R below(c10::DispatchKeySet keys, A... arguments) {
    Check::check(arguments...);
    return redispatch(keys, std::forward<A>(arguments)...);
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
