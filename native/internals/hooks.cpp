// Hooks on gradients: lib/gradients/hooks.ts.
#include "native/autograd/hooks.h"

#include "native/internals/internals.h"
#include "native/internals/owned_external.h"

namespace ltn {
namespace {

// What JavaScript has of a hook.
using CallbackOwner = std::shared_ptr<autograd::Callback>;

napi_value register_hook(Call& call) {
  const at::Tensor self = call.tensor(call.arguments[0], 0);
  if (!self.requires_grad()) {
    throw CodedError("ERR_TORCH_RUNTIME", "expected a tensor that requires gradients, got " + describe_tensor(&self));
  }
  auto callback = std::make_shared<autograd::Callback>(call, call.arguments[1]);
  napi_value external = owned_external(call, callback);
  autograd::add_hook(self, std::move(callback));
  return external;
}

napi_value register_post_accumulate_hook(Call& call) {
  const at::Tensor self = call.tensor(call.arguments[0], 0);
  if (!self.requires_grad() || self.grad_fn() != nullptr) {
    throw CodedError("ERR_TORCH_RUNTIME", "expected a leaf that requires gradients, got " + describe_tensor(&self) +
                                              (self.requires_grad() ? " that was computed" : ""));
  }
  auto callback = std::make_shared<autograd::Callback>(call, call.arguments[1]);
  napi_value external = owned_external(call, callback);
  autograd::add_post_accumulate_hook(self, std::move(callback));
  return external;
}

napi_value drop_hook(Call& call) {
  owned_by<CallbackOwner>(call, 0)->drop();
  return nullptr;
}

const Internal kInternals[] = {
    internal_body<&register_hook, 2>("registerHook", "registerHook(Tensor self, func hook) -> external"),
    internal_body<&register_post_accumulate_hook, 2>(
        "registerPostAccumulateGradHook", "registerPostAccumulateGradHook(Tensor self, func hook) -> external"),
    internal_body<&drop_hook, 1>("dropHook", "dropHook(external hook) -> ()"),
};

}  // namespace

InternalList hook_internals() { return {kInternals, std::size(kInternals)}; }

}  // namespace ltn
