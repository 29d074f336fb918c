// Nodes of torch.autograd.Function: lib/autograd/function.ts.
#include "native/autograd/js_node.h"
#include "native/exports/exports.h"
#include "native/exports/owned_external.h"
#include "native/ops/record.h"

namespace ltn {
namespace {

using autograd::JsNode;
using autograd::variable_list;

// JavaScript's reference to a node. Lifetime: the external's, whose finalizer runs on the JS thread. The node owns the
// function that refers to the external, so this owns the node only until the node is in a graph.
struct NodeOwner {
  autograd::OwnedNode<JsNode> until_finished;
  autograd::WeakNode<JsNode> node{autograd::OwnedNode<JsNode>()};
};

NodeOwner &owner_of(Call &call) { return owned_by<NodeOwner>(call, 0); }

variable_list tensors_of(Call &call, size_t index) {
  const auto read = read_list<at::Tensor>(call, call.arguments[index], index);
  return variable_list(read.begin(), read.end());
}

napi_value begin_function(Call &call) {
  // forward runs at once: it would see tensors as they were before the recorded ops.
  if (call.state.flags().recording != handles::Flags::kOff) require_up_to_date(call);
  NodeOwner owner;
  owner.until_finished = JsNode::create(read_string(call, call.arguments[1], 1), tensors_of(call, 0));
  owner.node = autograd::WeakNode<JsNode>(owner.until_finished);
  return owned_external(call, std::move(owner));
}

napi_value end_function(Call &call) {
  autograd::Forward forward;
  forward.outputs = tensors_of(call, 1);
  for (const auto &saved : read_list<c10::optional<at::Tensor>>(call, call.arguments[2], 2)) {
    forward.saved.push_back(saved.value_or(at::Tensor()));
  }
  forward.dirty = tensors_of(call, 3);
  forward.non_differentiable = tensors_of(call, 4);
  forward.materialize = read_bool(call, call.arguments[5], 5);
  forward.needs_saved = read_bool(call, call.arguments[6], 6);
  auto backward = std::make_unique<autograd::Callback>(call, call.arguments[7]);
  const autograd::OwnedNode<JsNode> node = std::move(owner_of(call).until_finished);
  owner_of(call).until_finished.reset();
  variable_list outputs = JsNode::finish(node, forward, std::move(backward));
  napi_value list = new_array(call, outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    // The program has this tensor already.
    if (outputs[i].is_same(forward.outputs[i])) outputs[i].reset();
    set_element(call, list, i, write_element(call, std::move(outputs[i])));
  }
  return list;
}

napi_value cancel_function(Call &call) {
  owner_of(call).until_finished.reset();
  return nullptr;
}

napi_value saved_tensors(Call &call) {
  const autograd::OwnedNode<JsNode> node = owner_of(call).node.lock();
  if (node == nullptr) {
    throw CodedError("ERR_TORCH_RUNTIME",
                     "expected a context with a live graph, got one whose "
                     "graph was freed");
  }
  return to_js(call, JsNode::saved(node));
}

const Export kFunctionExports[] = {
    exported_body<&begin_function, 2>("functionBegin", "functionBegin(Tensor[] inputs, str name) -> external"),
    called_by("Function.apply",
              exported_body<&end_function, 8>(
                  "functionEnd",
                  "functionEnd(external node, Tensor[] outputs, Tensor?[] saved, Tensor[] dirty, "
                  "Tensor[] nonDifferentiable, bool materialize, bool needsSaved, func backward) -> Tensor[]")),
    exported_body<&cancel_function, 1>("functionCancel", "functionCancel(external node) -> ()"),
    called_by("ctx.savedTensors",
              exported_body<&saved_tensors, 1>("functionSaved", "functionSaved(external node) -> Tensor[]")),
};

}  // namespace

ExportList function_exports() { return {kFunctionExports, std::size(kFunctionExports)}; }

}  // namespace ltn
