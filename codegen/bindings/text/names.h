// Conversion of ATen's names to JavaScript's.
#pragma once

#include <string>

namespace codegen {

// "log_softmax" -> "logSoftmax"; leading and trailing underscores stay: "add_", "_foreach_add_" -> "_foreachAdd_".
std::string camel_case(const std::string& name);

// Like camel_case, with a trailing underscore for words that JavaScript forbids as names.
std::string argument_js_name(const std::string& name);

// Whether it is an ASCII letter, a digit or an underscore.
inline bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Whether JavaScript forbids `word` as a variable's name.
bool is_reserved(const std::string& word);

// A name as a member of an object type, quoted if it is not an identifier.
std::string member_name(const std::string& name);

// PyTorch's namespace of an op ("", "linalg", "nn.functional", …) and its name there: linalg_norm -> linalg, norm.
struct Place {
  std::string space;
  std::string name;  // JS name in that namespace
};
Place place_of(const std::string& op_name, const std::string& python_module);

}  // namespace codegen
