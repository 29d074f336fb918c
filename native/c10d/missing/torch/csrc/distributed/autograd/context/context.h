// Debian's package of libtorch 1.13 lacks this header of libtorch, whose types c10d's Reducer names.
// Where the package has it, that one is used.
#pragma once

#if __has_include_next(<torch/csrc/distributed/autograd/context/context.h>)
#include_next <torch/csrc/distributed/autograd/context/context.h>
#else

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

namespace torch::distributed::autograd {

class DistAutogradContext {
 public:
  using GradCallback = std::function<bool(at::Tensor&)>;
};

using ContextPtr = std::shared_ptr<DistAutogradContext>;

}  // namespace torch::distributed::autograd

#endif
