#include "codegen/bindings/text/js_text.h"

#include <stdexcept>

#include "codegen/model/type_table.h"

namespace codegen {
namespace {

std::string json_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

// The argument that a return aliases, or -1.
int argument_of(const Declaration& declaration, const Return& result) {
  if (result.alias.find('!') == std::string::npos) return -1;
  for (size_t i = 0; i < declaration.arguments.size(); ++i) {
    if (declaration.arguments[i].mutated && declaration.arguments[i].alias == result.alias) return static_cast<int>(i);
  }
  throw std::logic_error(declaration.full_name() + " returns an alias that is not an argument's");
}

}  // namespace

std::string js_string(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string default_json(const Default& value) {
  switch (value.kind) {
    case Default::Kind::None:
      return "null";
    case Default::Kind::Bool:
      return value.boolean ? "true" : "false";
    case Default::Kind::Int:
      return std::to_string(value.integer);
    case Default::Kind::Float:
      return value.text;
    case Default::Kind::Str:
    case Default::Kind::Dtype:
    case Default::Kind::MemoryFormat:
      return json_string(value.text);
    case Default::Kind::IntList: {
      std::string text;
      for (const long long integer : value.integers) text += (text.empty() ? "" : ",") + std::to_string(integer);
      return "[" + text + "]";
    }
  }
  throw std::logic_error("unknown kind of default");
}

std::string signature_code(const Declaration& declaration, bool number_tensors) {
  std::string text;
  for (const Argument& argument : declaration.arguments) {
    if (!text.empty()) text += '|';
    if (argument.kwarg_only) text += '*';
    if (argument.out) text += '>';
    if (argument.mutated) text += '!';
    if (argument.variadic) text += '~';
    std::string code = type_code(argument.type);
    const bool is_tensor = argument.type.base == Base::Tensor && !argument.type.list && !argument.type.nullable;
    if (number_tensors && is_tensor && !argument.mutated) code = kNumberTensor.code;
    text += argument.name + " " + code;
    if (argument.default_value) text += " " + default_json(*argument.default_value);
  }
  text += "=>";
  bool first = true;
  for (const Return& result : declaration.returns) {
    if (!first) text += '|';
    first = false;
    const int argument = argument_of(declaration, result);
    text += argument >= 0 ? "@" + std::to_string(argument) : type_code(result.type);
    if (!result.name.empty()) text += " " + result.name;
  }
  return text;
}

}  // namespace codegen
