// Batch normalization over the batches of all ranks, behind an interface of tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace ltn::distributed {

class Group;

struct BatchNormOptions {
  at::Tensor input;         // [N, C, ...]; N may differ between the ranks, and be 0
  at::Tensor weight;        // [C]; undefined if there is none
  at::Tensor bias;          // [C]; undefined if there is none
  at::Tensor running_mean;  // [C]; undefined if it is not kept
  at::Tensor running_var;   // [C]; undefined if it is not kept
  double momentum = 0;
  double eps = 0;
};

// Normalizes the input by mean and variance of the inputs of all ranks, and updates the running ones with them. Blocks
// until all ranks have called it; so does its backward, on the thread of the backward. The gradients of weight and bias
// are those of this rank's input. The graph of the result shares the group.
using BatchNorm = at::Tensor(const std::shared_ptr<Group>& group, const BatchNormOptions& options);

}  // namespace ltn::distributed
