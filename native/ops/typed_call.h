// Calls of an op by its C++ signature, which need no stack of boxed values.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Scalar.h>

#include <cstddef>
#include <functional>

namespace ltn {

// How many arguments of each kind a call takes at most.
constexpr size_t kTypedTensors = 3, kTypedScalars = 2;

// Calls the op. Takes as many tensors and scalars as its schema has, in their order. Thread: any.
using TypedCall = std::function<at::Tensor(const at::Tensor* const* tensors, const at::Scalar* scalars)>;

// Empty if the op has another signature than one to three tensors, then up to two scalars, and one tensor as its
// result.
TypedCall typed_call_of(const c10::OperatorHandle& op);

}  // namespace ltn
