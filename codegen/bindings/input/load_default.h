// A default's C++ text from Declarations.yaml -> typed literal.
#pragma once

#include <string>

#include "codegen/model/schema.h"

namespace codegen {

// Reads the text of a `default:` for an argument of that type: "c10::nullopt", "{-2,-1}", "at::kLong", "\"mean\"".
// Throws std::invalid_argument with the expectation ("an integer") as its text.
Default parse_default(const std::string& text, const Type& type);

}  // namespace codegen
