// A separate tensor over the same memory, for another thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

namespace ltn::share {

// The reason why `tensor` cannot be shared with another thread, or nothing if it can. `borrowed_deleter` marks memory
// that belongs to a JS ArrayBuffer of one thread.
std::optional<std::string> why_not(const at::Tensor& tensor, void (*borrowed_deleter)(void*));

// Makes the storages of `tensor` non-resizable, as PyTorch does for shared storages: other threads may read them from
// now on, and a resize would free the memory. Only for a tensor that why_not() accepts.
void pin_storages(const at::Tensor& tensor);

// A new TensorImpl over the same storages, with separate metadata, version counter and autograd state. Keeps the dtype,
// sizes, strides, and whether it is an inference tensor; requires no grad. Only reads `tensor`: any thread, while no
// one changes its metadata.
at::Tensor alias_of(const at::Tensor& tensor);

}  // namespace ltn::share
