#include "native/autograd/hooks.h"

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "native/compat.h"

namespace ltn::autograd {

uint64_t HookList::add(std::shared_ptr<Callback> callback) {
  const std::lock_guard<std::mutex> lock(mutex_);
  callbacks_.emplace(++last_, std::move(callback));
  return last_;
}

void HookList::remove(uint64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  callbacks_.erase(number);
}

std::vector<std::shared_ptr<Callback>> HookList::all() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<Callback>> list;
  list.reserve(callbacks_.size());
  for (const auto& entry : callbacks_) list.push_back(entry.second);
  return list;
}

HookHandle::HookHandle(const std::shared_ptr<HookList>& list, const std::shared_ptr<Callback>& callback)
    : list_(list), callback_(callback), number_(list->add(callback)) {}

void HookHandle::remove() {
  // A running backward has its own list of hooks to call.
  if (const auto callback = callback_.lock()) callback->drop();
  if (const auto list = list_.lock()) list->remove(number_);
}

namespace {

// The entry in libtorch's list. Lifetime and thread: those of its HookList, which it owns.
struct GradientHooks {
  at::TensorBase operator()(const at::TensorBase& gradient) const {
    if (!gradient.defined()) return at::TensorBase();
    at::Tensor current(gradient);
    size_t position = 0;
    for (const auto& callback : list->all()) {
      at::Tensor replacement;
      callback->call([&](CallbackFrame& frame) {
        frame.push(current);
        replacement = frame.tensor(frame.run());
      });
      if (replacement.defined()) {
        torch::autograd::check_variable_result(current, replacement, std::to_string(position));
        current = std::move(replacement);
      }
      ++position;
    }
    return current;
  }
  std::shared_ptr<HookList> list;
};

// The hook list of the tensor's entry of type `Entry`, which is created if there is none.
template <class Entry, class Make>
std::shared_ptr<HookList> list_of(const at::Tensor& tensor, Make make) {
  // After a write through another view of the same memory, the tensor has no node yet: libtorch would crash.
  tensor.grad_fn();
  // In-place ops give a tensor another list.
  const auto* meta = torch::autograd::impl::get_autograd_meta(tensor);
  if (meta != nullptr && meta->cpp_hooks_list_ != nullptr) {
    for (const auto& function : *meta->cpp_hooks_list_) {
      if (const auto* entry = function.template target<Entry>()) return entry->list;
    }
  }
  auto list = std::make_shared<HookList>();
  // Tensor::register_hook wraps its argument, so the entry would not be found again.
  static_cast<const at::TensorBase&>(tensor).register_hook(make(list));
  return list;
}

void call_with(const Callback& callback, const at::Tensor& leaf) {
  callback.call([&](CallbackFrame& frame) {
    frame.push(leaf);
    frame.run();
  });
}

}  // namespace

HookHandle add_hook(const at::Tensor& tensor, const std::shared_ptr<Callback>& callback) {
  return {list_of<GradientHooks>(tensor, [](const auto& list) { return GradientHooks{list}; }), callback};
}

#ifdef LTN_HAS_POST_ACCUMULATE_HOOKS

namespace {

// A tensor has one such object. Lifetime and thread: those of its HookList, which it owns.
struct PostAccumulateHooks : torch::autograd::PostAccumulateGradHook {
  void operator()(const at::Tensor& leaf) override {
    for (const auto& callback : list->all()) call_with(*callback, leaf);
  }
  const std::shared_ptr<HookList> list = std::make_shared<HookList>();
};

}  // namespace

HookHandle add_post_accumulate_hook(const at::Tensor& leaf, const std::shared_ptr<Callback>& callback) {
  auto* hooks = dynamic_cast<PostAccumulateHooks*>(torch::autograd::impl::post_acc_grad_hooks(leaf).get());
  if (hooks == nullptr) {
    auto made = std::make_unique<PostAccumulateHooks>();
    hooks = made.get();
    torch::autograd::impl::set_post_acc_grad_hooks(leaf, std::move(made));
  }
  return {hooks->list, callback};
}

#else

namespace {

using Weak = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

// This libtorch has no such hooks. A hook on the leaf runs before the accumulation, so it requests a call at the end of
// the backward. The leaf owns its hooks, which therefore must not own the leaf. Lifetime and thread: those of its
// HookList, which it owns.
struct PostAccumulateHooks {
  at::TensorBase operator()(const at::TensorBase&) const {
    auto callbacks = list->all();
    if (callbacks.empty()) return at::TensorBase();
    torch::autograd::Engine::get_default_engine().queue_callback([callbacks = std::move(callbacks), weak = leaf] {
      auto strong = weak.lock();
      if (!strong) return;
      const at::Tensor tensor(std::move(strong));
      for (const auto& callback : callbacks) call_with(*callback, tensor);
    });
    return at::TensorBase();
  }
  std::shared_ptr<HookList> list;
  Weak leaf;
};

}  // namespace

HookHandle add_post_accumulate_hook(const at::Tensor& leaf, const std::shared_ptr<Callback>& callback) {
  const Weak weak(leaf.getIntrusivePtr());
  const auto make = [&](const auto& list) { return PostAccumulateHooks{list, weak}; };
  return {list_of<PostAccumulateHooks>(leaf, make), callback};
}

#endif

}  // namespace ltn::autograd
