// A tensor in messages.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace ltn {

// "float32[2, 3]", and the device if it is not the CPU.
std::string describe_tensor(const at::Tensor& tensor);

}  // namespace ltn
