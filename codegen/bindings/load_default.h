// A default's C++ text from Declarations.yaml -> typed literal.
#pragma once

#include <string>

#include "codegen/bindings/schema.h"

namespace codegen {

// Reads the text of a `default:` for an argument of that type: "c10::nullopt", "{-2,-1}", "at::kLong", "\"mean\"".
// Throws std::invalid_argument whose text says what was expected ("an integer").
Default parse_default(const std::string& text, const Type& type);

}  // namespace codegen
