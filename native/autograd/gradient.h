// The gradient of a leaf, to which a backward in the pool may be adding at this moment.
#pragma once

#include <ATen/core/Tensor.h>

namespace ltn::autograd {

// While the pool runs a backward, under the lock under which it adds; but not in a callback, which may run under that
// lock. Thread: a JS thread.
at::Tensor gradient_of(const at::Tensor& leaf);
// An undefined gradient removes it.
void set_gradient(const at::Tensor& leaf, at::Tensor gradient);

}  // namespace ltn::autograd
