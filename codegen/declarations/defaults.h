// Schema defaults as torchgen writes them in Declarations.yaml.
#pragma once

#include <string>

#include "codegen/declarations/headers.h"
#include "codegen/model/schema.h"

namespace codegen {

// The C++ expression of a schema's default: None -> c10::nullopt or {}, [0,1] -> {0,1}, 'a' -> "a", long -> at::kLong.
// `type` is the argument's. Throws std::invalid_argument if the default of an unsized list is not a list.
std::string cpp_default(const std::string& schema_default, const Type& type, const Spelling& spelling);

// The expression as a YAML scalar: booleans and numbers plain (1e-05 as 1.0e-05), others as strings.
std::string yaml_default(const std::string& cpp_default);

}  // namespace codegen
