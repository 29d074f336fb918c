// Calls of ops that leave out autograd's kernels, because no tensor requires a gradient, or because the op makes a new
// tensor. This saves a tenth to a fifth of the time of a small op.
//
// What autograd's generated kernel (VariableType) of such a call does is to find that out, and to call the next kernel
// with the same guards as here. So the results, the counters of versions and the tracking of views are the same. Ops
// that make a new tensor are called as PyTorch's bindings call them (variable_factories.h): filling it is not a
// version.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstdint>
#include <type_traits>

namespace ltn {

// How an op may be called below autograd: never, or as autograd's kernel does it, which depends on whether the op has a
// kernel that tracks views, or counts a version of what it writes to. kFactory: an op that makes a new tensor, whatever
// the tensors of its arguments are.
enum class BelowAutograd : uint8_t { kUnknown, kNever, kFunctional, kViewOrInPlace, kFactory };

// kNever: ops that libtorch composes of others, but for factories, and ops whose autograd kernel does more than to call
// the next one.
BelowAutograd below_autograd_of(const c10::OperatorHandle& op);

// Whether the tensors of a call, and this thread, are such that autograd's kernel would only call the next one. Thread:
// any.
class GradientFree {
 public:
  void add(const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    const c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
    keys_ = keys_ | impl->key_set();
    if (impl->autograd_meta() != nullptr) may_differentiate_ = may_differentiate_ || differentiates(tensor);
  }
  void add(const c10::optional<at::Tensor>& tensor) {
    if (tensor.has_value()) add(*tensor);
  }
  void add(at::TensorList tensors) {
    for (const at::Tensor& tensor : tensors) add(tensor);
  }
  void add(const at::ITensorListRef& tensors) {
    for (const at::Tensor& tensor : tensors) add(tensor);
  }
  void add(const c10::List<c10::optional<at::Tensor>>& tensors) {
    for (const c10::optional<at::Tensor> tensor : tensors) add(tensor);
  }
  void add(const c10::optional<at::Generator>& generator) {
    if (generator.has_value() && generator->defined()) keys_ = keys_ | generator->key_set();
  }
  template <class T>
  void add(const T&) noexcept {
    static_assert(!std::is_same_v<T, c10::optional<at::TensorList>>, "its tensors are to be looked at");
  }

  // Dense tensors on the CPU, in no mode that changes how ops are called, and no RecordFunction callback (of a
  // profiler) is registered.
  bool holds() const {
    c10::DispatchKeySet keys = keys_;  // raw_repr() is not const in 1.13
    if (may_differentiate_ || keys.raw_repr() != usual_keys()) return false;
    c10::impl::LocalDispatchKeySet modes = c10::impl::tls_local_dispatch_key_set();
    return modes.included_.raw_repr() == c10::DispatchKeySet(c10::default_included_set).raw_repr() &&
           modes.excluded_.raw_repr() == c10::DispatchKeySet(c10::default_excluded_set).raw_repr() &&
           !at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value();
  }

 private:
  static uint64_t usual_keys() {
    static const uint64_t keys = [] {
      const c10::InferenceMode outside(false);  // tensors that are made in that mode have other keys
      return at::empty({0}).key_set().raw_repr();
    }();
    return keys;
  }
  // Whether it has a part in a graph, or a tangent of forward-mode differentiation.
  static bool differentiates(const at::Tensor& tensor) {
    return (tensor.requires_grad() && at::GradMode::is_enabled()) || tensor._fw_grad(0).defined();
  }

  c10::DispatchKeySet keys_;
  bool may_differentiate_ = false;
};

// Calls `redispatch`, which takes the keys of the kernels to choose from, below autograd.
template <class Redispatch>
decltype(auto) call_below_autograd(BelowAutograd how, const Redispatch& redispatch) {
  const c10::DispatchKeySet dense(c10::DispatchKey::CPU);
  if (how == BelowAutograd::kViewOrInPlace) {
    const at::AutoDispatchBelowAutograd guard;
    return redispatch(dense | c10::DispatchKeySet(c10::DispatchKey::ADInplaceOrView));
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  return redispatch(dense);
}

}  // namespace ltn
