// Schemas in the notation of the spec: "manual_seed(Generator self, int seed) -> ()".
#pragma once

#include <string>

#include "codegen/model/schema.h"

namespace codegen {

// Parses "name(Type argument=default, Type... rest, *, Type by_name) -> Type" or "-> (Type a, Type b)". Throws
// std::invalid_argument with the expectation as its text.
Declaration parse_function(const std::string& text);

}  // namespace codegen
