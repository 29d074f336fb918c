// A node of the graph whose backward is a function of JavaScript's:
// torch.autograd.Function.
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

namespace ltn::autograd {

using torch::autograd::variable_list;

// What forward said of its arguments and results.
struct Forward {
  variable_list outputs;
  variable_list saved;  // undefined ones stand for null
  variable_list dirty, non_differentiable;
  bool materialize = true;
};

// Lifetime: shared by the tensors and nodes that come after it in the graph;
// freed on any thread. It owns the saved tensors until a backward that does not
// keep the graph, and the function. Thread: made on the JS thread, where its
// backward runs, or is refused (Callback).
class JsNode : public torch::autograd::Node {
 public:
  // Before forward, which may write to the inputs. Nothing of it is in a graph
  // where no input requires gradients.
  static std::shared_ptr<JsNode> create(std::string name, variable_list inputs);

  // After forward: the outputs as they are in the graph; another tensor than
  // was given where that is an input.
  static variable_list finish(const std::shared_ptr<JsNode> &self, const Forward &forward,
                              std::unique_ptr<Callback> backward);

  // What forward saved. Throws what libtorch throws where a tensor was written
  // to since.
  static variable_list saved(const std::shared_ptr<JsNode> &self);

  variable_list apply(variable_list &&gradients) override;
  std::string name() const override { return name_; }
  void release_variables() override;

 private:
  std::string name_;
  bool is_executable_ = false;
  bool materialize_ = true;
  bool is_freed_ = false;  // guarded by mutex_, as saved_
  variable_list inputs_;   // until finish()
  std::vector<torch::autograd::SavedVariable> saved_;
  std::vector<torch::autograd::VariableInfo> outputs_;
  std::unique_ptr<Callback> backward_;
};

}  // namespace ltn::autograd
