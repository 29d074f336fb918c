// Strings as YAML scalars.
#pragma once

#include <string>

namespace codegen {

// The text plain where every YAML reader takes it for that string, else in single quotes. One line only.
std::string yaml_string(const std::string& text);

}  // namespace codegen
