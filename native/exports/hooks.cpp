// Hooks on gradients: lib/autograd/hooks.ts.
#include "native/autograd/hooks.h"

#include "native/errors/describe_tensor.h"
#include "native/exports/exports.h"
#include "native/exports/owned_external.h"

namespace ltn {
namespace {

// The handle as a value for JavaScript. Where that cannot be made the call throws, and the hook must not stay.
napi_value given_out(Call& call, autograd::HookHandle handle) {
  try {
    return owned_external(call, handle);
  } catch (...) {  // no memory, or the thread is being ended
    handle.remove();
    throw;
  }
}

napi_value register_hook(Call& call) {
  const at::Tensor self = call.tensor(call.arguments[0], 0);
  if (!self.requires_grad()) {
    throw CodedError("ERR_TORCH_RUNTIME", "expected a tensor that requires gradients, got " + describe_tensor(self));
  }
  const auto callback = std::make_shared<autograd::Callback>(call, call.arguments[1]);
  return given_out(call, autograd::add_hook(self, callback));
}

napi_value register_post_accumulate_hook(Call& call) {
  const at::Tensor self = call.tensor(call.arguments[0], 0);
  if (!self.requires_grad() || self.grad_fn() != nullptr) {
    throw CodedError("ERR_TORCH_RUNTIME", "expected a leaf that requires gradients, got " + describe_tensor(self) +
                                              (self.requires_grad() ? " that was computed" : ""));
  }
  const auto callback = std::make_shared<autograd::Callback>(call, call.arguments[1]);
  return given_out(call, autograd::add_post_accumulate_hook(self, callback));
}

napi_value drop_hook(Call& call) {
  owned_by<autograd::HookHandle>(call, 0).remove();
  return nullptr;
}

const Export kHookExports[] = {
    exported_body<&register_hook, 2>("registerHook", "registerHook(Tensor self, func hook) -> external"),
    exported_body<&register_post_accumulate_hook, 2>(
        "registerPostAccumulateGradHook", "registerPostAccumulateGradHook(Tensor self, func hook) -> external"),
    exported_body<&drop_hook, 1>("dropHook", "dropHook(external hook) -> ()"),
};

}  // namespace

ExportList hook_exports() { return {kHookExports, std::size(kHookExports)}; }

}  // namespace ltn
