#include "native/autograd/hooks.h"

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "native/compat.h"

namespace ltn::autograd {

void add_hook(const at::Tensor& tensor, std::shared_ptr<Callback> callback) {
  tensor.register_hook([callback = std::move(callback)](const at::Tensor& gradient) -> at::Tensor {
    at::Tensor replacement;
    if (!gradient.defined()) return replacement;
    callback->call([&](CallbackFrame& frame) {
      frame.push(gradient);
      replacement = frame.tensor(frame.run());
    });
    return replacement;
  });
}

namespace {

void call_with(const Callback& callback, const at::Tensor& leaf) {
  callback.call([&](CallbackFrame& frame) {
    frame.push(leaf);
    frame.run();
  });
}

}  // namespace

#ifdef LTN_HAS_POST_ACCUMULATE_HOOKS

namespace {

// A tensor has one such object: this holds all hooks.
// Lifetime: the leaf's. Thread: the one that runs the backward.
struct PostAccumulateHooks : torch::autograd::PostAccumulateGradHook {
  void operator()(const at::Tensor& leaf) override {
    const auto now = callbacks;  // a hook may register another
    for (const auto& callback : now) call_with(*callback, leaf);
  }
  std::vector<std::shared_ptr<Callback>> callbacks;
};

}  // namespace

void add_post_accumulate_hook(const at::Tensor& leaf, std::shared_ptr<Callback> callback) {
  auto* hooks = dynamic_cast<PostAccumulateHooks*>(torch::autograd::impl::post_acc_grad_hooks(leaf).get());
  if (hooks == nullptr) {
    auto made = std::make_unique<PostAccumulateHooks>();
    hooks = made.get();
    torch::autograd::impl::set_post_acc_grad_hooks(leaf, std::move(made));
  }
  auto& list = hooks->callbacks;
  list.erase(std::remove_if(list.begin(), list.end(), [](const auto& old) { return old->is_dropped(); }), list.end());
  list.push_back(std::move(callback));
}

#else

// This libtorch has no such hooks. A hook on the leaf comes before the accumulation, so what it asks for is a call at
// the end of the backward. The leaf owns its hooks, which therefore must not own the leaf.
void add_post_accumulate_hook(const at::Tensor& leaf, std::shared_ptr<Callback> callback) {
  c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> weak(leaf.getIntrusivePtr());
  leaf.register_hook([callback = std::move(callback), weak](const at::Tensor&) -> at::Tensor {
    if (callback->is_dropped()) return at::Tensor();
    torch::autograd::Engine::get_default_engine().queue_callback([callback, weak] {
      auto strong = weak.lock();
      if (strong) call_with(*callback, at::Tensor(std::move(strong)));
    });
    return at::Tensor();
  });
}

#endif

}  // namespace ltn::autograd
