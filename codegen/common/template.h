// Text with named placeholders. (Idea: torchgen's CodeTemplate.)
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace codegen {

using TemplateValues = std::initializer_list<std::pair<std::string_view, std::string>>;

// The text with each `${name}` replaced by the value of that name. A template that begins with a line break, as a raw
// string does, is taken without it. Throws std::logic_error for a placeholder without a value, and for a value without
// a placeholder.
std::string fill(std::string_view text, TemplateValues values);

}  // namespace codegen
