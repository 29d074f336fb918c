// Declarations.yaml -> Model, read and validated once, in the file's order.
#pragma once

#include <filesystem>
#include <string>

#include "codegen/model/schema.h"

namespace codegen {

// Reads and validates a Declarations.yaml. Throws Error (common/diagnostics.h) with file, line and expectation.
//
// Defaults: a single number as the default of a `T[N]` is expanded to N numbers (Kind::IntList); the default of a
// `float` is always Kind::Float, that of a `Scalar` Kind::Int or Kind::Float as written.
// An out argument is also kwarg_only, as in the schema. Aliases of returns come from the schema's text, types do not.
Model load_declarations(const std::filesystem::path& path);

// The same from text; `name` is the file name in messages.
Model load_declarations_text(const std::string& text, const std::string& name);

}  // namespace codegen
