// JSDoc comments for editors, made from an op's schema.
#pragma once

#include <string>

#include "codegen/bindings/dts/text.h"
#include "codegen/model/schema.h"

namespace codegen {

// One line: the name in PyTorch ("" for none) and the schema.
std::string doc_line(const std::string& name, const std::string& schema);

// The whole comment: name, schema, each argument with its default, the result, the errors, and the first libtorch with
// the op ("" if unknown). `self` is the index of an argument that is not a parameter.
std::string doc_block(const std::string& name, const Declaration& declaration, int self, const CallShape& shape,
                      const std::string& since = "");

}  // namespace codegen
