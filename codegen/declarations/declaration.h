// One entry of Declarations.yaml, in torchgen's format (torchgen/gen.py, compute_declaration_yaml).
//
// These keys of torchgen are omitted, because an installed libtorch does not contain their values:
// manual_kernel_registration, category_override, device_guard; also with_gil and deprecated, which are always false.
// One key is ours: ops_header, the header below ATen/ops that declares the operator's struct in at::_ops.
#pragma once

#include <string>

#include "codegen/declarations/headers.h"
#include "codegen/declarations/schema.h"

namespace codegen {

// The contents of the entry beyond the schema.
struct DeclarationFacts {
  OpsStruct ops;
  bool is_method = false;
  bool is_function = false;
  bool dispatch = false;
  std::string python_module;
};

// The entry's YAML text, ending in a newline. Throws std::invalid_argument for a type or default without a C++ form.
std::string declaration_yaml(const Schema& schema, const DeclarationFacts& facts, const Spelling& spelling);

}  // namespace codegen
