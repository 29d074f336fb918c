// The inputs a model was compiled for. Its code accesses memory accordingly, whatever it is given.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "native/convert/call.h"

namespace ltn::models {

struct InputSize {
  int64_t least;
  int64_t most;
  int64_t stride;  // -1: depends on other sizes
};

struct InputForm {
  c10::ScalarType dtype;
  std::vector<InputSize> sizes;

  bool fits(const at::Tensor& tensor) const;
  // "float32[*, 6] with strides [6, 1]"
  std::string describe() const;
};

// By the input's number; nothing is known of inputs without an entry.
using InputForms = std::map<size_t, InputForm>;

// Reads the list packed by lib/inductor/inputs.ts.
InputForms read_input_forms(Call& call, napi_value list, size_t index);

// "float32[2, 6] with strides [1, 2]"
std::string describe_strided(const at::Tensor& tensor);

}  // namespace ltn::models
