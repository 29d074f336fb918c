#include "native/async/engine_leftovers.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

namespace ltn {

void free_engine_leftovers() noexcept {
  try {
    const c10::InferenceMode no_inference(false);
    const at::AutoGradMode with_graph(true);
    at::Tensor nothing = at::empty({0}, at::TensorOptions(at::kFloat));
    nothing.set_requires_grad(true);
    nothing.backward(at::empty({0}, at::TensorOptions(at::kFloat)));
  } catch (...) {  // out of memory: the next backward frees them
  }
}

}  // namespace ltn
