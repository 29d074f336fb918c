#include "codegen/bindings/input/load_default.h"

#include <cerrno>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "codegen/common/numbers.h"
#include "codegen/model/type_table.h"

namespace codegen {
namespace {

using Words = std::map<std::string, std::string>;

[[noreturn]] void refuse(const std::string& expected) { throw std::invalid_argument(expected); }

bool ends_with(const std::string& text, const std::string& suffix) {
  return text.size() >= suffix.size() && text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

bool parse_integer(const std::string& text, long long& value) {
  if (text.empty() || text.find_first_not_of("0123456789-") != std::string::npos) return false;
  char* end = nullptr;
  errno = 0;
  value = std::strtoll(text.c_str(), &end, 10);
  return *end == '\0' && end != text.c_str() && errno == 0;
}

bool parse_number(const std::string& text, double& value) {
  if (text.find_first_of("0123456789") == std::string::npos) return false;
  if (text.find_first_not_of("0123456789.eE+-") != std::string::npos) return false;
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return *end == '\0';
}

Default int_list(const std::string& text, const Type& type) {
  Default result;
  result.kind = Default::Kind::IntList;
  long long value = 0;
  if (type.size > 0 && parse_integer(text, value)) {
    result.integers.assign(static_cast<std::size_t>(type.size), value);
    return result;
  }
  const std::string expected = type.size > 0 ? "integers like {0,1}, or one integer" : "integers like {0,1}";
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') refuse(expected);
  if (text == "{}") return result;
  std::size_t start = 1;
  while (start < text.size()) {
    std::size_t end = text.find(',', start);
    if (end == std::string::npos) end = text.size() - 1;
    while (start < end && text[start] == ' ') ++start;
    if (!parse_integer(text.substr(start, end - start), value)) refuse(expected);
    result.integers.push_back(value);
    start = end + 1;
  }
  return result;
}

Default boolean(const std::string& text) {
  if (text != "true" && text != "false") refuse("true or false");
  Default result;
  result.kind = Default::Kind::Bool;
  result.boolean = text == "true";
  return result;
}

Default integer(const std::string& text) {
  // The numbers of enum at::Reduction (ATen/core/Reduction.h).
  static const std::map<std::string, long long> reductions = {
      {"at::Reduction::None", 0}, {"at::Reduction::Mean", 1}, {"at::Reduction::Sum", 2}};
  Default result;
  result.kind = Default::Kind::Int;
  const auto reduction = reductions.find(text);
  if (reduction != reductions.end()) {
    result.integer = reduction->second;
  } else if (!parse_integer(text, result.integer)) {
    refuse("an integer or at::Reduction::Mean, None or Sum");
  }
  return result;
}

Default floating(const std::string& text) {
  double value = 0;
  if (!parse_number(text, value)) refuse("a number");
  Default result;
  result.kind = Default::Kind::Float;
  result.text = float_text(value);
  return result;
}

// "a\"b" with its quotes -> a"b
Default string(const std::string& text) {
  const std::string expected = "a C++ string in double quotes";
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') refuse(expected);
  Default result;
  result.kind = Default::Kind::Str;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    char c = text[i];
    if (c == '"') refuse(expected);
    if (c == '\\') {
      if (++i + 1 >= text.size()) refuse(expected);
      c = text[i];
      if (c == 'n') {
        c = '\n';
      } else if (c == 't') {
        c = '\t';
      } else if (c != '\\' && c != '"' && c != '\'') {
        refuse("one of the escapes \\\\ \\\" \\' \\n \\t");
      }
    }
    result.text += c;
  }
  return result;
}

Default dtype(const std::string& text) {
  static const Words names = {{"at::kByte", "uint8"},
                              {"at::kChar", "int8"},
                              {"at::kShort", "int16"},
                              {"at::kInt", "int32"},
                              {"at::kLong", "int64"},
                              {"at::kHalf", "float16"},
                              {"at::kFloat", "float32"},
                              {"at::kDouble", "float64"},
                              {"at::kBool", "bool"},
                              {"at::kBFloat16", "bfloat16"},
                              {"at::kComplexFloat", "complex64"},
                              {"at::kComplexDouble", "complex128"}};
  const auto name = names.find(text);
  if (name == names.end()) refuse("a dtype like at::kLong");
  Default result;
  result.kind = Default::Kind::Dtype;
  result.text = name->second;
  return result;
}

Default memory_format(const std::string& text) {
  // The namespace before it is at::, c10:: or missing, depending on the libtorch version.
  static const Words names = {{"MemoryFormat::Contiguous", "contiguous"},
                              {"MemoryFormat::Preserve", "preserve"},
                              {"MemoryFormat::ChannelsLast", "channels_last"},
                              {"MemoryFormat::ChannelsLast3d", "channels_last_3d"}};
  for (const auto& [cpp, name] : names) {
    if (!ends_with(text, cpp)) continue;
    Default result;
    result.kind = Default::Kind::MemoryFormat;
    result.text = name;
    return result;
  }
  refuse("a memory format like MemoryFormat::Contiguous");
}

Default value_default(const std::string& text, const Type& type) {
  if (type.list) {
    if (type.base == Base::Int) return int_list(text, type);
    refuse("no default but c10::nullopt for a type like " + schema_type(type));
  }
  long long whole = 0;
  switch (type.base) {
    case Base::Bool:
      return boolean(text);
    case Base::Int:
      return integer(text);
    case Base::Float:
      return floating(text);
    case Base::Scalar:
      return parse_integer(text, whole) ? integer(text) : floating(text);
    case Base::Str:
      return string(text);
    case Base::Dtype:
      return dtype(text);
    case Base::MemoryFormat:
      return memory_format(text);
    default:
      refuse("no default but c10::nullopt for a type like " + schema_type(type));
  }
}

}  // namespace

Default parse_default(const std::string& text, const Type& type) {
  const bool is_null = text == "c10::nullopt" || text == "std::nullopt" || text == "::std::nullopt" ||
                       (text == "{}" && type.base == Base::Tensor && !type.list);
  if (!is_null) return value_default(text, type);
  if (!type.nullable) refuse("a value, as " + schema_type(type) + " is not nullable");
  return Default{};
}

}  // namespace codegen
