// Represents a model in the slot table; JavaScript's model object refers to it.
#pragma once

#include <memory>

#include "native/convert/call.h"
#include "native/handles/holder.h"
#include "native/models/model.h"

namespace ltn::models {

// Lifetime: its slot's; running calls share the model beyond it. Thread: the environment's JS thread.
class ModelToken final : public handles::Holder {
 public:
  explicit ModelToken(std::shared_ptr<Model> model) : model(std::move(model)) {
    refresh([](const at::Tensor&) { return true; });  // no one else has the model yet
  }
  bool refresh(const MayRead& may_read) override;

  const std::shared_ptr<Model> model;
};

at::Tensor make_token(std::shared_ptr<Model> model);
// Throws BadArgument for the handle of anything else, DisposedTensor for a stale one.
const std::shared_ptr<Model>& read_model(Call& call, napi_value value, size_t index);

}  // namespace ltn::models
