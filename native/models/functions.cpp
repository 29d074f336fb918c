#include "native/models/functions.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <unordered_set>

namespace ltn::models {
namespace {

std::vector<at::Tensor> tensors_of(const Model::Named& named) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : each_once(named)) tensors.push_back(tensor);
  return tensors;
}

std::vector<std::string> names_of(const Model::Named& named) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : each_once(named)) names.push_back(name);
  return names;
}

}  // namespace

Model::Named each_once(const Model::Named& named) {
  Model::Named once;
  std::unordered_set<const c10::TensorImpl*> seen;
  for (const auto& entry : named) {
    if (seen.insert(entry.second.unsafeGetTensorImpl()).second) once.push_back(entry);
  }
  return once;
}

void script_train(std::shared_ptr<Model> self, bool mode) { self->train(mode); }
void script_eval(std::shared_ptr<Model> self) { self->train(false); }
bool script_is_training(std::shared_ptr<Model> self) { return self->is_training(); }
std::vector<at::Tensor> script_parameters(std::shared_ptr<Model> self) { return tensors_of(self->parameters()); }
std::vector<at::Tensor> script_buffers(std::shared_ptr<Model> self) { return tensors_of(self->buffers()); }
std::vector<std::string> script_parameter_names(std::shared_ptr<Model> self) { return names_of(self->parameters()); }
std::vector<std::string> script_buffer_names(std::shared_ptr<Model> self) { return names_of(self->buffers()); }

std::vector<std::string> script_method_names(std::shared_ptr<Model> self) {
  std::vector<std::string> names;
  for (const auto& method : self->methods()) names.push_back(method->name);
  return names;
}

std::string script_schema(std::shared_ptr<Model> self, c10::string_view method) {
  return self->method(std::string(method.data(), method.size())).schema;
}

std::string script_inlined_graph(std::shared_ptr<Model> self, c10::string_view method) {
  torch::jit::Function* function = self->method(std::string(method.data(), method.size())).function;
  const auto graph = torch::jit::toGraphFunction(*function).graph()->copy();
  torch::jit::Inline(*graph);
  return graph->toString(/*print_source_locations=*/false);
}

}  // namespace ltn::models
