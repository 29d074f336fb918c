// Hooks on gradients, whose functions are JavaScript's.
#pragma once

#include <ATen/core/Tensor.h>
#include <node_api.h>

#include <memory>

#include "native/autograd/callback.h"

namespace ltn::autograd {

// `function(gradient)` gives the handle of the gradient to go on with, or 0. On a tensor that requires gradients.
void add_hook(const at::Tensor& tensor, std::shared_ptr<Callback> callback);

// `function(leaf)` is called when a backward has accumulated into the leaf's `grad`.
void add_post_accumulate_hook(const at::Tensor& leaf, std::shared_ptr<Callback> callback);

}  // namespace ltn::autograd
