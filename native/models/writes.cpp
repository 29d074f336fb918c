#include "native/models/writes.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace ltn::models {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// Ops whose result always has its own memory. Schemas do not show this: dropout and type_as may return their argument.
const std::unordered_set<std::string>& ops_with_new_result() {
  static const std::unordered_set<std::string> names = {
      "aten::_convolution",
      "aten::abs",
      "aten::adaptive_avg_pool2d",
      "aten::add",
      "aten::addmm",
      "aten::arange",
      "aten::avg_pool2d",
      "aten::baddbmm",
      "aten::batch_norm",
      "aten::bmm",
      "aten::cat",
      "aten::clone",
      "aten::conv1d",
      "aten::conv2d",
      "aten::conv3d",
      "aten::conv_transpose2d",
      "aten::div",
      "aten::empty",
      "aten::empty_like",
      "aten::exp",
      "aten::eye",
      "aten::full",
      "aten::full_like",
      "aten::gather",
      "aten::gelu",
      "aten::index_select",
      "aten::layer_norm",
      "aten::linear",
      "aten::log",
      "aten::matmul",
      "aten::max_pool2d",
      "aten::mm",
      "aten::mul",
      "aten::neg",
      "aten::ones",
      "aten::ones_like",
      "aten::pow",
      "aten::rand",
      "aten::rand_like",
      "aten::randn",
      "aten::randn_like",
      "aten::relu",
      "aten::rsqrt",
      "aten::sigmoid",
      "aten::softmax",
      "aten::sqrt",
      "aten::stack",
      "aten::sub",
      "aten::tanh",
      "aten::where",
      "aten::zeros",
      "aten::zeros_like",
  };
  return names;
}

// Ops that update running statistics, which their schema does not show, and the argument that enables it.
const std::unordered_map<std::string, const char*>& ops_with_statistics() {
  static const std::unordered_map<std::string, const char*> names = {
      {"aten::batch_norm", "training"},
      {"aten::native_batch_norm", "training"},
      {"aten::cudnn_batch_norm", "training"},
      {"aten::miopen_batch_norm", "training"},
      {"aten::_batch_norm_impl_index", "training"},
      {"aten::instance_norm", "use_input_stats"},
  };
  return names;
}

// Whether the method itself created the value: writing to it is then invisible outside.
class CreatedInside {
 public:
  bool operator()(const Value* value) { return is_own(value, 0); }

 private:
  bool is_own(const Value* value, int depth) {
    constexpr int kMaxDepth = 1000;  // a chain of in-place ops
    if (const auto known = known_.find(value); known != known_.end()) return known->second;
    const bool own = depth < kMaxDepth && find(value, depth);
    known_[value] = own;
    return own;
  }

  bool find(const Value* value, int depth) {
    const Node* node = value->node();
    if (node->kind() == c10::prim::ListConstruct || node->kind() == c10::prim::DictConstruct) return true;
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (schema == nullptr || value->offset() >= schema->returns().size()) return false;
    const c10::AliasInfo* alias = schema->returns()[value->offset()].alias_info();
    if (alias == nullptr) return ops_with_new_result().count(node->kind().toQualString()) != 0;
    // A view or the argument itself: depends on the tensor arguments.
    if (alias->isWildcardBefore() || alias->isWildcardAfter()) return false;
    return std::all_of(node->inputs().begin(), node->inputs().end(), [&](const Value* input) {
      const c10::TypeKind kind = input->type()->kind();
      const bool is_plain = kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType ||
                            kind == c10::TypeKind::BoolType || kind == c10::TypeKind::NoneType ||
                            kind == c10::TypeKind::StringType || kind == c10::TypeKind::DeviceObjType ||
                            kind == c10::TypeKind::NumberType;
      const bool is_constant_list = kind == c10::TypeKind::ListType && input->node()->kind() == c10::prim::Constant;
      return is_plain || is_constant_list || is_own(input, depth + 1);
    });
  }

  std::unordered_map<const Value*, bool> known_;
};

Writes of_updater(const Node* node, const c10::FunctionSchema& schema, const char* flag) {
  for (size_t i = 0; i < schema.arguments().size() && i < node->inputs().size(); ++i) {
    if (schema.arguments()[i].name() != flag) continue;
    const auto constant = torch::jit::toIValue(node->inputs()[i]);
    if (constant.has_value() && constant->isBool()) return constant->toBool() ? Writes::Always : Writes::Never;
  }
  return Writes::InTraining;
}

Writes of_node(const Node* node, CreatedInside& own) {
  switch (node->kind()) {
    case c10::prim::SetAttr:
    case c10::prim::CallMethod:  // on an interface: any method
    case c10::prim::CallFunction:
    case c10::prim::fork:
      return Writes::Always;
    default:
      break;
  }
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (node->kind() == c10::aten::backward) return Writes::Always;  // gradients of any tensor
  if (schema == nullptr) return Writes::Never;  // control flow and constants; writing nodes have a schema
  const auto updater = ops_with_statistics().find(node->kind().toQualString());
  if (updater != ops_with_statistics().end()) return of_updater(node, *schema, updater->second);
  if (!schema->is_mutable()) return Writes::Never;
  for (size_t i = 0; i < schema->arguments().size() && i < node->inputs().size(); ++i) {
    const c10::AliasInfo* alias = schema->arguments()[i].alias_info();
    if (alias == nullptr || !alias->isWrite()) continue;
    // Of `Tensor(a!)[]` the elements are written, which may come from anywhere, also where the list is the method's
    // own.
    const bool writes_elements = !alias->containedTypes().empty();
    if (writes_elements || !own(node->inputs()[i])) return Writes::Always;
  }
  return Writes::Never;
}

void scan(const Block* block, CreatedInside& own, Writes* writes) {
  for (const Node* node : block->nodes()) {
    *writes = std::max(*writes, of_node(node, own));
    for (const Block* inner : node->blocks()) scan(inner, own, writes);
    if (*writes == Writes::Always) return;
  }
}

}  // namespace

Writes writes_of(torch::jit::Function& function) {
  auto* graph_function = torch::jit::tryToGraphFunction(function);
  if (graph_function == nullptr) return Writes::Always;
  const auto graph = graph_function->graph()->copy();
  torch::jit::Inline(*graph);
  CreatedInside own;
  Writes writes = Writes::Never;
  scan(graph->block(), own, &writes);
  return writes;
}

}  // namespace ltn::models
