#include "native/autograd/js_node.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>

#include <functional>
#include <mutex>
#include <type_traits>
#include <utility>

namespace ltn::autograd {
namespace {

using Impls = std::unordered_set<at::TensorImpl *>;
using Outputs = std::vector<c10::optional<at::Tensor>>;

Impls impls_of(const variable_list &tensors) {
  Impls impls;
  for (const at::Tensor &tensor : tensors) impls.insert(tensor.unsafeGetTensorImpl());
  return impls;
}

// libtorch's function takes more arguments in later releases.
template <class Wrap>
Outputs wrap_with(Wrap wrap, const variable_list &inputs, const Impls &non_differentiable, const Impls &dirty,
                  const Outputs &outputs, const NodePtr &node) {
  const torch::autograd::_jvp_fn_t jvp = [](const variable_list &, const variable_list &) -> variable_list {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "an autograd.Function has no forward-mode derivative");
  };
  const Impls none;
  using View = std::function<at::Tensor(at::Tensor)>;
  const View view = [](const at::Tensor &input) { return input.view_as(input); };
  using List = const variable_list &;
  using Given = c10::ArrayRef<c10::optional<at::Tensor>>;
  using Owner = const NodePtr &;
  using Jvp = const torch::autograd::_jvp_fn_t &;
  if constexpr (std::is_invocable_v<Wrap, List, const Impls &, const Impls &, Given, Owner, Jvp>) {
    return wrap(inputs, non_differentiable, dirty, outputs, node, jvp);
  } else if constexpr (std::is_invocable_v<Wrap, List, const Impls &, const Impls &, Given, Owner, Jvp, const Impls &,
                                           const View &>) {
    return wrap(inputs, non_differentiable, dirty, outputs, node, jvp, none, view);
  } else if constexpr (std::is_invocable_v<Wrap, List, const Impls &, const Impls &, Given, Owner, Jvp, const Impls &,
                                           const View &, bool>) {
    return wrap(inputs, non_differentiable, dirty, outputs, node, jvp, none, view, /*pure_view=*/false);
  } else {
    NodePtr attached;
    return wrap(inputs, non_differentiable, dirty, outputs, node, jvp, none, view, /*pure_view=*/false, attached);
  }
}

[[noreturn]] void throw_freed() {
  throw CodedError("ERR_TORCH_RUNTIME",
                   "the saved tensors were freed by a backward: pass "
                   "{ retainGraph: true } to it before another "
                   "backward or a read of savedTensors");
}

}  // namespace

OwnedNode<JsNode> JsNode::create(std::string name, variable_list inputs) {
  OwnedNode<JsNode> node = make_node<JsNode>();
  node->name_ = std::move(name);
  node->is_executable_ = at::GradMode::is_enabled() && torch::autograd::any_variable_requires_grad(inputs);
  if (node->is_executable_) node->set_next_edges(torch::autograd::collect_next_edges(inputs));
  node->inputs_ = std::move(inputs);
  return node;
}

variable_list JsNode::finish(const OwnedNode<JsNode> &self, const Forward &forward,
                             std::unique_ptr<Callback> backward) {
  const variable_list inputs = std::move(self->inputs_);
  self->inputs_.clear();
  for (const at::Tensor &tensor : forward.dirty) tensor.unsafeGetTensorImpl()->bump_version();
  const Outputs raw(forward.outputs.begin(), forward.outputs.end());
  // It may have overloads.
  const auto wrap =
      [](auto &&...given) -> decltype(torch::autograd::_wrap_outputs(std::forward<decltype(given)>(given)...)) {
    return torch::autograd::_wrap_outputs(std::forward<decltype(given)>(given)...);
  };
  const NodePtr node = self->is_executable_ ? NodePtr(self) : NodePtr(nullptr);
  const Outputs wrapped =
      wrap_with(wrap, inputs, impls_of(forward.non_differentiable), impls_of(forward.dirty), raw, node);
  variable_list outputs;
  outputs.reserve(wrapped.size());
  for (const auto &output : wrapped) outputs.push_back(*output);
  if (!self->is_executable_) return outputs;
  self->materialize_ = forward.materialize;
  self->needs_saved_ = forward.needs_saved;
  for (const at::Tensor &output : outputs) self->outputs_.emplace_back(output);
  for (const at::Tensor &tensor : forward.saved) {
    const bool is_output = tensor.defined() && tensor.grad_fn().get() == self.get();
    self->saved_.emplace_back(tensor, is_output);
  }
  self->backward_ = std::move(backward);
  return outputs;
}

variable_list JsNode::saved(const OwnedNode<JsNode> &self) {
  const std::lock_guard<std::mutex> lock(self->mutex_);
  if (self->is_freed_) throw_freed();
  variable_list tensors;
  tensors.reserve(self->saved_.size());
  for (const auto &saved : self->saved_) tensors.push_back(saved.unpack(self));
  return tensors;
}

variable_list JsNode::apply(variable_list &&gradients) {
  // finish() threw when libtorch had already put this node into the graph of an argument that forward modified.
  if (backward_ == nullptr) {
    throw CodedError("ERR_TORCH_RUNTIME",
                     name_ +
                         ": expected the node of a call that succeeded, got one whose call failed after its "
                         "forward had modified an argument");
  }
  {
    at::OptionalDeviceGuard guard;
    for (size_t i = 0; materialize_ && i < gradients.size() && i < outputs_.size(); ++i) {
      if (!gradients[i].defined()) gradients[i] = outputs_[i].zeros(guard);
    }
  }
  variable_list results;
  bool has_run = false;
  backward_->call([&](CallbackFrame &frame) {
    has_run = true;
    frame.push_list(gradients);
    results = frame.tensors(frame.run());
  });
  if (!has_run) throw_freed();  // release_variables() has dropped the function
  return results;
}

void JsNode::release_variables() {
  const std::lock_guard<std::mutex> lock(mutex_);
  saved_.clear();
  is_freed_ = true;
  // What the function refers to may refer to this node: a cycle that V8 cannot see. A call of it may be running.
  if (needs_saved_ && backward_ != nullptr) backward_->drop();
}

void JsNode::free_parts() {
  release_variables();
  inputs_.clear();
  outputs_.clear();
  backward_.reset();  // the function refers to JavaScript's reference to this node
}

}  // namespace ltn::autograd
