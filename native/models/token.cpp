#include "native/models/token.h"

#include <utility>

namespace ltn::models {

bool ModelToken::refresh(const MayRead& may_read) {
  std::vector<c10::Storage> storages;
  bool all = true;
  if (model->try_storages(may_read, &storages, &all)) put(std::move(storages));
  return all;
}

at::Tensor make_token(std::shared_ptr<Model> model) { return at::detail::make_tensor<ModelToken>(std::move(model)); }

const std::shared_ptr<Model>& read_model(Call& call, napi_value value, size_t index) {
  const at::Tensor& tensor = call.tensor(value, index);
  auto* token = dynamic_cast<ModelToken*>(tensor.unsafeGetTensorImpl());
  if (token == nullptr) throw BadArgument(index, "a ScriptModule", "a Tensor");
  return token->model;
}

}  // namespace ltn::models
