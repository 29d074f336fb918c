// Schema types as C++ text, spelled as torchgen spells them in Declarations.yaml (SymInt reported as int64_t).
#pragma once

#include <string>

#include "codegen/declarations/headers.h"
#include "codegen/model/schema.h"

namespace codegen {

// Properties in which operators' C++ signatures differ.
struct OperatorStyle {
  Spelling spelling;
  bool const_mutable = false;  // mutated tensors are `const at::Tensor &`
  bool list_ref = false;       // tensor lists are `const at::ITensorListRef &`
};

// Reads the style from the operator's `using schema = …`.
OperatorStyle style_of(const std::string& signature, const Spelling& spelling);

// "const c10::optional<at::Tensor> &"
std::string argument_type(const Type& type, bool mutated, const OperatorStyle& style);

// "at::Tensor &", "::std::vector<at::Tensor>"
std::string return_type(const Type& type, bool mutated, const OperatorStyle& style);

// "at::Tensor": the type without its nullability.
std::string dynamic_type(const Type& type, const OperatorStyle& style);

}  // namespace codegen
