// The functions of codegen/spec/classes/ScriptModule.yaml, bound by the ops' invoker.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/string_view.h>

#include <memory>
#include <string>
#include <vector>

#include "native/convert/from_js.h"
#include "native/models/token.h"

namespace ltn {

template <>
struct Element<std::shared_ptr<models::Model>> {
  static std::shared_ptr<models::Model> read(Call& c, napi_value v, size_t i) { return models::read_model(c, v, i); }
};

namespace models {

// Without further names of the same tensor.
Model::Named each_once(const Model::Named& named);
void script_train(std::shared_ptr<Model> self, bool mode);
void script_eval(std::shared_ptr<Model> self);
bool script_is_training(std::shared_ptr<Model> self);
std::vector<at::Tensor> script_parameters(std::shared_ptr<Model> self);
std::vector<at::Tensor> script_buffers(std::shared_ptr<Model> self);
std::vector<std::string> script_parameter_names(std::shared_ptr<Model> self);
std::vector<std::string> script_buffer_names(std::shared_ptr<Model> self);
std::vector<std::string> script_method_names(std::shared_ptr<Model> self);
std::string script_schema(std::shared_ptr<Model> self, c10::string_view method);
std::string script_inlined_graph(std::shared_ptr<Model> self, c10::string_view method);

}  // namespace models
}  // namespace ltn
