// Hooks on gradients: lib/gradients/hooks.ts.
#include "native/autograd/hooks.h"

#include "native/internals/internals.h"

namespace ltn {
namespace {

using CallbackOwner = std::shared_ptr<autograd::Callback>;

// What JavaScript holds of a hook. Lifetime: the external's, whose finalizer runs on the JS thread.
napi_value external_of(Call& call, const CallbackOwner& callback) {
  auto owner = std::make_unique<CallbackOwner>(callback);
  napi_value external = nullptr;
  const auto finalize = [](node_api_basic_env, void* data, void*) { delete static_cast<CallbackOwner*>(data); };
  check(call.env, napi_create_external(call.env, owner.get(), finalize, nullptr, &external));
  static_cast<void>(owner.release());  // the finalizer's
  return external;
}

napi_value register_hook(Call& call) {
  const at::Tensor self = call.tensor(call.arguments[0], 0);
  if (!self.requires_grad()) {
    throw CodedError("ERR_TORCH_RUNTIME", "expected a tensor that requires gradients, got " + describe_tensor(&self));
  }
  auto callback = std::make_shared<autograd::Callback>(call, call.arguments[1]);
  napi_value external = external_of(call, callback);
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
  napi_value external = external_of(call, callback);
  autograd::add_post_accumulate_hook(self, std::move(callback));
  return external;
}

napi_value drop_hook(Call& call) {
  void* owner = nullptr;
  check(call.env, napi_get_value_external(call.env, call.arguments[0], &owner));
  (*static_cast<CallbackOwner*>(owner))->drop();
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
