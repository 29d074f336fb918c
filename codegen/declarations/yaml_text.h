// Strings as YAML scalars.
#pragma once

#include <string>

namespace codegen {

// The text, plain if every YAML reader reads it as that string, else in single quotes. One line only.
std::string yaml_string(const std::string& text);

}  // namespace codegen
