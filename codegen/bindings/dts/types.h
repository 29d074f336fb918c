// TypeScript types of values, by their types in schemas.
#pragma once

#include <string>
#include <vector>

#include "codegen/model/schema.h"

namespace codegen {

// The TypeScript type of an accepted or returned value.
std::string ts_argument(const Type& type);
std::string ts_result(const Type& type);

// A union in parentheses, so that [] can follow it; other types as they are.
std::string in_parentheses(const std::string& type);

// "readonly [Tensor, Tensor]"
std::string repeated_tuple(const std::string& element, size_t count);

std::string joined(const std::vector<std::string>& parts, const std::string& separator);

}  // namespace codegen
