#include "codegen/declarations/defaults.h"

#include <cctype>
#include <cstdlib>
#include <stdexcept>

#include "codegen/common/numbers.h"
#include "codegen/declarations/yaml_text.h"

namespace codegen {
namespace {

// 'a"b' -> "a\"b": the schema may use either quote, C++ only double ones.
std::string double_quoted(const std::string& text) {
  std::string result = "\"";
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '"') {
      result += "\\\"";
    } else if (text[i] != '\\') {
      result += text[i];
    } else {
      ++i;
      result += text[i] == '\'' ? "'" : std::string("\\") + text[i];
    }
  }
  return result + "\"";
}

bool is_integer(const std::string& text) {
  std::size_t i = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  if (i == text.size()) return false;
  for (; i < text.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) return false;
  }
  return true;
}

bool is_number(const std::string& text) {
  if (text.find_first_not_of("0123456789.eE+-") != std::string::npos) return false;
  if (text.find_first_of("0123456789") == std::string::npos) return false;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return *end == '\0';
}

}  // namespace

std::string cpp_default(const std::string& text, const Type& type, const Spelling& spelling) {
  if (text == "None") {
    return type.base == Base::Tensor && type.nullable && !type.list ? "{}" : spelling.nullopt;
  }
  if (type.list) {
    if (text.size() >= 2 && text.front() == '[' && text.back() == ']')
      return "{" + text.substr(1, text.size() - 2) + "}";
    if (type.size == 0) throw std::invalid_argument("default '" + text + "' of a list is not a list like [0,1]");
  }
  if (type.base == Base::Str && text.size() >= 2 && text.front() == '\'' && text.back() == '\'') {
    return double_quoted(text);
  }
  if (text == "True") return "true";
  if (text == "False") return "false";
  if (text == "Mean") return "at::Reduction::Mean";
  if (text == "contiguous_format") return spelling.memory_format + "::Contiguous";
  if (text == "long") return "at::kLong";
  return text;
}

std::string yaml_default(const std::string& text) {
  if (text == "true" || text == "false" || is_integer(text)) return text;
  if (!is_number(text)) return yaml_string(text);
  std::string number = float_text(std::strtod(text.c_str(), nullptr));
  // YAML 1.1 reads 1e-05 as a string, so PyYAML writes a point.
  const std::size_t e = number.find('e');
  if (e != std::string::npos && number.find('.') == std::string::npos) number.insert(e, ".0");
  return number;
}

}  // namespace codegen
