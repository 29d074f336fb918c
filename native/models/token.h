// What stands for a model in the slot table, and so what JavaScript's object of a model refers to.
#pragma once

#include <memory>

#include "native/convert/call.h"
#include "native/handles/holder.h"
#include "native/models/model.h"

namespace ltn::models {

// Lifetime: its slot's; calls under way share the model beyond it. Thread: the environment's JS thread.
class Token final : public handles::Holder {
 public:
  explicit Token(std::shared_ptr<Model> model) : model(std::move(model)) {
    refresh([](const at::Tensor&) { return true; });  // nobody else knows the model yet
  }
  bool refresh(const MayRead& may_read) override;

  const std::shared_ptr<Model> model;
};

at::Tensor make_token(std::shared_ptr<Model> model);
// Throws BadArgument for the handle of anything else, DisposedTensor for a stale one.
const std::shared_ptr<Model>& read_model(Call& call, napi_value value, size_t index);

}  // namespace ltn::models
