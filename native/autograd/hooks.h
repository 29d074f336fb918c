// Hooks on gradients with JavaScript functions.
#pragma once

#include <ATen/core/Tensor.h>
#include <node_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "native/autograd/callback.h"

namespace ltn::autograd {

// The hooks of one kind on one tensor, in order of registration. libtorch's own list of a tensor never shrinks, so it
// has one entry for all of them, which owns this. Lifetime: that of the leaf, or of the node that created the tensor.
// Thread: any; a hook may add or remove others.
class HookList {
 public:
  HookList() = default;
  HookList(const HookList&) = delete;
  HookList& operator=(const HookList&) = delete;

  uint64_t add(std::shared_ptr<Callback> callback);
  void remove(uint64_t number);
  // A copy of the current hooks.
  std::vector<std::shared_ptr<Callback>> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Callback>> callbacks_;
  uint64_t last_ = 0;
};

// One hook, for removing it; owns nothing. Thread: the JS thread of its function.
class HookHandle {
 public:
  HookHandle(const std::shared_ptr<HookList>& list, const std::shared_ptr<Callback>& callback);
  // Removes the hook and releases its function. Further calls do nothing.
  void remove();

 private:
  std::weak_ptr<HookList> list_;
  std::weak_ptr<Callback> callback_;
  uint64_t number_;
};

// `function(gradient)` returns the handle of the gradient to continue with, or 0. The tensor must require gradients.
HookHandle add_hook(const at::Tensor& tensor, const std::shared_ptr<Callback>& callback);

// `function(leaf)` is called after a backward has accumulated into the leaf's `grad`.
HookHandle add_post_accumulate_hook(const at::Tensor& leaf, const std::shared_ptr<Callback>& callback);

}  // namespace ltn::autograd
