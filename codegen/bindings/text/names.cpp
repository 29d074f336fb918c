#include "codegen/bindings/text/names.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "codegen/bindings/text/js_text.h"

namespace codegen {

std::string camel_case(const std::string& name) {
  const size_t first = name.find_first_not_of('_');
  if (first == std::string::npos) return name;
  const size_t last = name.find_last_not_of('_');
  std::string result = name.substr(0, first);
  bool upper = false;
  for (size_t i = first; i <= last; ++i) {
    if (name[i] == '_') {
      upper = true;
      continue;
    }
    const auto c = static_cast<unsigned char>(name[i]);
    result += upper ? static_cast<char>(std::toupper(c)) : name[i];
    upper = false;
  }
  return result + name.substr(last + 1);
}

bool is_reserved(const std::string& word) {
  static const std::set<std::string> words{
      "arguments", "await",      "break",     "case",   "catch",    "class",  "const",      "continue",
      "debugger",  "default",    "delete",    "do",     "else",     "enum",   "eval",       "export",
      "extends",   "false",      "finally",   "for",    "function", "if",     "implements", "import",
      "in",        "instanceof", "interface", "let",    "new",      "null",   "package",    "private",
      "protected", "public",     "return",    "static", "super",    "switch", "this",       "throw",
      "true",      "try",        "typeof",    "var",    "void",     "while",  "with",       "yield"};
  return words.count(word) != 0;
}

std::string argument_js_name(const std::string& name) {
  const std::string js = camel_case(name);
  return is_reserved(js) ? js + "_" : js;
}

Place place_of(const std::string& op_name, const std::string& python_module) {
  if (python_module.empty()) return {"", camel_case(op_name)};
  if (python_module == "nn") return {"nn.functional", camel_case(op_name)};
  // linalg_norm -> norm, special_expm1 -> expm1; ops without the prefix keep their names.
  const std::string prefix = python_module + "_";
  const bool has_prefix = op_name.rfind(prefix, 0) == 0;
  return {python_module, camel_case(has_prefix ? op_name.substr(prefix.size()) : op_name)};
}

std::string member_name(const std::string& name) {
  const bool plain =
      !name.empty() && (name[0] < '0' || name[0] > '9') && std::all_of(name.begin(), name.end(), [](char c) {
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      });
  return plain ? name : js_string(name);
}

}  // namespace codegen
