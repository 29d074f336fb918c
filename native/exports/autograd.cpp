// Gradients and the modes that switch their recording.
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/function.h>

#include "native/autograd/gradient.h"
#include "native/exports/exports.h"
#include "native/schema/dtypes.h"

namespace ltn {
namespace {

bool requires_grad(const at::Tensor& self) { return self.requires_grad(); }
// Not set_requires_grad(), which takes any tensor: the flag of a computed one must not be removed.
void set_requires_grad(const at::Tensor& self, bool value) { self.requires_grad_(value); }
at::Tensor grad(const at::Tensor& self) { return autograd::gradient_of(self); }
void set_grad(const at::Tensor& self, const c10::optional<at::Tensor>& value) {
  if (!value.has_value()) return autograd::set_gradient(self, at::Tensor());
  TORCH_CHECK(value->sizes() == self.sizes(), "assigned grad has data of a different size: expected ", self.sizes(),
              ", got ", value->sizes());
  TORCH_CHECK(value->scalar_type() == self.scalar_type(), "assigned grad has data of a different dtype: expected ",
              dtype_name(self.scalar_type()), ", got ", dtype_name(value->scalar_type()));
  TORCH_CHECK(value->device() == self.device(), "assigned grad has data on a different device: expected ",
              self.device(), ", got ", value->device());
  TORCH_CHECK(value->unsafeGetTensorImpl() != self.unsafeGetTensorImpl(), "a tensor cannot be its own grad");
  autograd::set_gradient(self, *value);
}
std::string grad_fn_name(const at::Tensor& self) {
  return self.grad_fn() == nullptr ? std::string() : self.grad_fn()->name();
}

bool grad_enabled() { return c10::GradMode::is_enabled(); }
void set_grad_enabled(bool value) { c10::GradMode::set_enabled(value); }
bool inference_enabled() { return c10::InferenceMode::is_enabled(); }

// c10's guard objects, held by number: JS decides when a mode ends. libtorch's modes are per thread, so they are
// thread-local and in order.
thread_local std::vector<std::unique_ptr<c10::InferenceMode>> thread_inference_modes;

int64_t inference_enter() {
  thread_inference_modes.push_back(std::make_unique<c10::InferenceMode>(true));
  return static_cast<int64_t>(thread_inference_modes.size());
}

// Ends the mode started at `depth`, and those inside it that were left open.
void inference_exit(int64_t depth) {
  while (static_cast<int64_t>(thread_inference_modes.size()) >= std::max<int64_t>(depth, 1)) {
    thread_inference_modes.pop_back();
  }
}

const Export kAutogradExports[] = {
    exported("requiresGrad", "requiresGrad(Tensor self) -> bool", &requires_grad),
    exported("setRequiresGrad", "setRequiresGrad(Tensor self, bool value) -> ()", &set_requires_grad),
    exported("grad", "grad(Tensor self) -> Tensor", &grad),
    exported("setGrad", "setGrad(Tensor self, Tensor? value) -> ()", &set_grad),
    exported("gradFnName", "gradFnName(Tensor self) -> str", &grad_fn_name),
    exported("gradEnabled", "gradEnabled() -> bool", &grad_enabled),
    exported("setGradEnabled", "setGradEnabled(bool value) -> ()", &set_grad_enabled),
    exported("inferenceEnabled", "inferenceEnabled() -> bool", &inference_enabled),
    exported("inferenceEnter", "inferenceEnter() -> int", &inference_enter),
    exported("inferenceExit", "inferenceExit(int depth) -> ()", &inference_exit),
};

}  // namespace

ExportList autograd_exports() { return {kAutogradExports, std::size(kAutogradExports)}; }

}  // namespace ltn
