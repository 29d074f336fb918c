// A graph node with a JavaScript function as backward: torch.autograd.Function.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "native/autograd/callback.h"
#include "native/autograd/node_ptr.h"

namespace ltn::autograd {

using torch::autograd::variable_list;

// What forward declared about its arguments and results.
struct Forward {
  variable_list outputs;
  variable_list saved;  // undefined tensors represent null
  variable_list dirty, non_differentiable;
  bool materialize = true;
  bool needs_saved = false;  // its backward cannot run after the saved tensors are freed
};

// Lifetime: shared by the tensors and nodes after it in the graph; freed on any thread. It owns the function, and the
// saved tensors until a backward that does not retain the graph; then also a function that needs them. Thread: created
// on the JS thread, where its backward runs, or is refused (Callback).
class JsNode : public NodeBase {
 public:
  // Called before forward, which may write to the inputs. Without an input that requires gradients, it joins no graph.
  static OwnedNode<JsNode> create(std::string name, variable_list inputs);

  // Called after forward: the outputs as they are in the graph; an output that is an input is replaced by another
  // tensor.
  static variable_list finish(const OwnedNode<JsNode> &self, const Forward &forward,
                              std::unique_ptr<Callback> backward);

  // The tensors saved by forward. Throws libtorch's error if one was written to since.
  static variable_list saved(const OwnedNode<JsNode> &self);

  variable_list apply(variable_list &&gradients) override;
  std::string name() const override { return name_; }
  void release_variables() override;

 protected:
  void free_parts() override;

 private:
  std::string name_;
  bool is_executable_ = false;
  bool materialize_ = true;
  bool needs_saved_ = false;
  bool is_freed_ = false;  // guarded by mutex_, like saved_
  variable_list inputs_;   // until finish()
  std::vector<torch::autograd::SavedVariable> saved_;
  std::vector<torch::autograd::VariableInfo> outputs_;
  std::unique_ptr<Callback> backward_;
};

}  // namespace ltn::autograd
