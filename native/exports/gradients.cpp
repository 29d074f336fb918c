// Gradients of tensors with respect to others: torch.autograd.grad and torch.autograd.backward in Python.
#include <ATen/ops/ones_like.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/variable.h>

#include "native/autograd/node_ptr.h"
#include "native/errors/describe_tensor.h"
#include "native/exports/exports.h"

namespace ltn {
namespace {

using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::variable_list;
using Gradients = c10::List<c10::optional<at::Tensor>>;

std::string place(const char* list, size_t index) { return std::string(list) + "[" + std::to_string(index) + "]"; }

// Where the engine starts, and with which gradient.
struct Roots {
  edge_list edges;
  variable_list gradients;
};

void add_root(Roots* roots, const at::Tensor& output, const c10::optional<at::Tensor>& gradient, size_t index) {
  Edge edge = torch::autograd::impl::gradient_edge(output);
  if (edge.function == nullptr) {
    throw CodedError("ERR_TORCH_RUNTIME", place("outputs", index) +
                                              ": expected a tensor that requires gradients or was computed from one, "
                                              "got " +
                                              describe_tensor(output) + " without a gradFn");
  }
  at::Tensor with;
  if (gradient.has_value()) {
    if (gradient->sizes() != output.sizes()) {
      throw CodedError("ERR_TORCH_ARGUMENT", place("gradOutputs", index) + ": expected the shape of " +
                                                 place("outputs", index) + ", " + describe_tensor(output) + ", got " +
                                                 describe_tensor(*gradient));
    }
    if (gradient->is_complex() != output.is_complex()) {
      throw CodedError("ERR_TORCH_ARGUMENT", place("gradOutputs", index) + ": expected the dtype of " +
                                                 place("outputs", index) + ", " + describe_tensor(output) + ", got " +
                                                 describe_tensor(*gradient));
    }
    with = *gradient;
  } else {
    if (output.numel() != 1) {
      throw CodedError("ERR_TORCH_RUNTIME", place("gradOutputs", index) +
                                                ": expected a tensor, since only an output with one element may "
                                                "omit it, got null for " +
                                                place("outputs", index) + ", " + describe_tensor(output));
    }
    with = at::ones_like(output, at::MemoryFormat::Preserve);
  }
  roots->edges.push_back(std::move(edge));
  roots->gradients.push_back(std::move(with));
}

Roots roots_of(at::TensorList outputs, const Gradients& gradients) {
  Roots roots;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool is_given = i < gradients.size();
    add_root(&roots, outputs[i], is_given ? gradients.get(i) : c10::optional<at::Tensor>(), i);
  }
  return roots;
}

// Edges of the gradients that the engine computes or accumulates.
edge_list edges_of(at::TensorList inputs, bool accumulates) {
  edge_list edges;
  edges.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor& input = inputs[i];
    if (!input.requires_grad()) {
      throw CodedError("ERR_TORCH_RUNTIME", place("inputs", i) + ": expected a tensor that requires gradients, got " +
                                                describe_tensor(input));
    }
    const autograd::NodePtr node = input.grad_fn();
    if (accumulates && node != nullptr) input.retain_grad();
    const autograd::NodePtr goal = node != nullptr ? node : torch::autograd::impl::try_get_grad_accumulator(input);
    // A node outside the graph represents a leaf that was not used.
    if (goal == nullptr) {
      edges.emplace_back(autograd::make_node<torch::autograd::Identity>(), 0);
    } else {
      edges.emplace_back(goal, node != nullptr ? input.output_nr() : 0);
    }
  }
  return edges;
}

std::vector<at::Tensor> gradients_of(at::TensorList outputs, at::TensorList inputs, const Gradients& gradients,
                                     bool keep_graph, bool create_graph, bool allow_unused) {
  const Roots roots = roots_of(outputs, gradients);
  const edge_list edges = edges_of(inputs, false);
  variable_list results = torch::autograd::Engine::get_default_engine().execute(
      roots.edges, roots.gradients, keep_graph, create_graph, /*accumulate_grad=*/false, edges);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined() && !allow_unused) {
      throw CodedError("ERR_TORCH_RUNTIME",
                       place("inputs", i) +
                           ": the outputs were not computed from it: pass { allowUnused: true } to get null for it");
    }
  }
  return results;
}

void run_backward(at::TensorList outputs, const Gradients& gradients, bool keep_graph, bool create_graph,
                  at::TensorList inputs) {
  const Roots roots = roots_of(outputs, gradients);
  const edge_list edges = edges_of(inputs, true);
  torch::autograd::Engine::get_default_engine().execute(roots.edges, roots.gradients, keep_graph, create_graph,
                                                        /*accumulate_grad=*/true, edges);
}

template <class Signature>
constexpr Export engine_export(const char* name, const char* op, const char* schema, Signature* function) {
  Export made = exported(name, schema, function);
  made.row.name = op;
  made.row.mutated = OpRow::kWritesElsewhere;
  return made;
}

const Export kGradientExports[] = {
    engine_export("autogradGrad", "autograd.grad",
                  "autogradGrad(Tensor[] outputs, Tensor[] inputs, Tensor?[] gradOutputs, bool retainGraph, "
                  "bool createGraph, bool allowUnused) -> Tensor[]",
                  &gradients_of),
    engine_export("autogradBackward", "autograd.backward",
                  "autogradBackward(Tensor[] outputs, Tensor?[] gradOutputs, bool retainGraph, bool createGraph, "
                  "Tensor[] inputs) -> ()",
                  &run_backward),
};

}  // namespace

ExportList gradient_exports() { return {kGradientExports, std::size(kGradientExports)}; }

}  // namespace ltn
