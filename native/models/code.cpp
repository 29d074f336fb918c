#include "native/models/code.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <mutex>
#include <unordered_set>
#include <utility>

#include "native/models/reachable.h"

namespace ltn::models {
namespace {

std::mutex process_units;  // functions are added to a compilation unit or removed from it

void visit_constants(const torch::jit::Block* block, const std::function<void(const at::Tensor&)>& visit) {
  for (const torch::jit::Node* node : block->nodes()) {
    if (node->kind() == c10::prim::Constant) {
      const auto value = torch::jit::toIValue(node->output());
      if (value.has_value()) for_each_tensor(*value, visit);
    }
    for (const torch::jit::Block* inner : node->blocks()) visit_constants(inner, visit);
  }
}

}  // namespace

Code Code::of_loaded(const torch::jit::Module& module) {
  Code code;
  const std::lock_guard<std::mutex> lock(process_units);
  code.find_constants(module._ivalue()->compilation_unit()->get_functions());
  return code;
}

Code Code::of_copy(const torch::jit::Module& original, const std::function<torch::jit::Module()>& make,
                   torch::jit::Module* copy) {
  const std::lock_guard<std::mutex> lock(process_units);
  Code code;
  const auto unit = original._ivalue()->compilation_unit();
  const auto before = unit->get_functions();
  const std::unordered_set<const torch::jit::Function*> known(before.begin(), before.end());
  std::vector<torch::jit::Function*> made;
  const auto find_made = [&] {
    code.unit_ = unit;
    for (torch::jit::Function* function : unit->get_functions()) {
      if (function == nullptr || known.count(function) != 0) continue;
      made.push_back(function);
      code.copied_.push_back(function->qualname());
    }
  };
  try {
    *copy = make();
    find_made();
    code.find_constants(made);
  } catch (...) {  // any exception: nothing of the copy stays
    if (code.unit_ == nullptr) find_made();
    code.remove();
    throw;
  }
  return code;
}

Code::~Code() {
  if (unit_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(process_units);
  remove();
}

void Code::remove() {
  for (const c10::QualifiedName& name : copied_) {
    if (unit_->find_function(name) == nullptr) continue;  // libtorch has removed it
    if (const auto type = unit_->get_class(c10::QualifiedName(name.prefix()))) {
      if (type->findMethod(name.name()) != nullptr) type->unsafeRemoveMethod(name.name());
    }
    unit_->unsafeRemoveMethod(name);
  }
  unit_.reset();
}

void Code::find_constants(const std::vector<torch::jit::Function*>& functions) {
  std::unordered_set<const c10::TensorImpl*> seen;
  for (torch::jit::Function* function : functions) {
    auto* graph_function = function == nullptr ? nullptr : torch::jit::tryToGraphFunction(*function);
    if (graph_function == nullptr) continue;
    visit_constants(graph_function->graph()->block(), [&](const at::Tensor& tensor) {
      if (seen.insert(tensor.unsafeGetTensorImpl()).second) constants_.push_back(tensor);
    });
  }
}

}  // namespace ltn::models
