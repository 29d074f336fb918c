// The training mode of a part of a model.
#pragma once

#include <torch/csrc/jit/api/module.h>

namespace ltn::models {

inline bool trains(const torch::jit::Module& part) {
  return part.hasattr("training") && part.attr("training").isBool() && part.attr("training").toBool();
}

// A frozen model has no such attribute, and constants cannot be changed.
inline void set_training(torch::jit::Module part, bool on) {
  if (part.type()->findAttributeSlot("training").has_value()) part.setattr("training", on);
}

}  // namespace ltn::models
