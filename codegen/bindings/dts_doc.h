// JSDoc: what a schema tells of an op, for editors.
#pragma once

#include <string>

#include "codegen/bindings/dts_text.h"
#include "codegen/bindings/schema.h"

namespace codegen {

// One line: the name in PyTorch ("" for none) and the schema.
std::string doc_line(const std::string& name, const std::string& schema);

// The whole: name, schema, what each argument is and its default, what the result is, the errors, and since which
// libtorch it is there ("" for unknown). `self` is the index of an argument that is no parameter.
std::string doc_block(const std::string& name, const Declaration& declaration, int self, const CallShape& shape,
                      const std::string& since = "");

}  // namespace codegen
