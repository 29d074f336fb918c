// Declarations.yaml -> Model: read once, validated once, in the file's order.
#pragma once

#include <filesystem>
#include <string>

#include "codegen/bindings/schema.h"

namespace codegen {

// Reads and validates a Declarations.yaml. Throws Error (common/diagnostics.h) with file, line and what was expected.
//
// Defaults: a default of a `T[N]` that the schema writes as one number arrives expanded to N numbers (Kind::IntList);
// a default of a `float` is always Kind::Float, of a `Scalar` Kind::Int or Kind::Float as written.
// An out argument is also kwarg_only, as in the schema. Aliases of returns come from the schema's text, types do not.
Model load_declarations(const std::filesystem::path& path);

// The same from text; `name` stands for the file in messages.
Model load_declarations_text(const std::string& text, const std::string& name);

}  // namespace codegen
