// A tensor of its own over the same memory, for another thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

namespace ltn::share {

// Why `tensor` cannot be given to another thread, or nothing when it can. `borrowed_deleter` marks memory that belongs
// to a JS ArrayBuffer of one thread.
std::optional<std::string> why_not(const at::Tensor& tensor, void (*borrowed_deleter)(void*));

// The storages of `tensor`, which other threads may read from now on, can no longer be resized: that would free memory
// under their feet. (PyTorch's shared storages are the same.) Only a tensor that why_not() lets pass.
void pin_storages(const at::Tensor& tensor);

// A new TensorImpl over the same storages: no metadata, version counter or autograd state in common. Keeps the dtype,
// sizes, strides, and whether it is an inference tensor; requires no grad. Only reads `tensor`: any thread, while
// nobody changes its metadata.
at::Tensor alias_of(const at::Tensor& tensor);

}  // namespace ltn::share
