#include "codegen/bindings/spec/parse_function.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <vector>

#include "codegen/model/type_table.h"

namespace codegen {
namespace {

std::string trim(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

bool take_end(std::string& text, const std::string& end) {
  if (text.size() < end.size() || text.compare(text.size() - end.size(), end.size(), end) != 0) return false;
  text.resize(text.size() - end.size());
  return true;
}

bool is_digits(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

// Parses types such as "int[2]?".
Type parse_schema_type(std::string text) {
  const std::string whole = text;
  Type type;
  type.nullable = take_end(text, "?");
  if (take_end(text, "]")) {
    const size_t open = text.rfind('[');
    const std::string size = open == std::string::npos ? "" : text.substr(open + 1);
    if (open == std::string::npos || (!size.empty() && !is_digits(size))) {
      throw std::invalid_argument("a list such as int[] or int[2], not '" + whole + "'");
    }
    type.list = true;
    type.size = size.empty() ? 0 : std::stoi(size);
    text.resize(open);
    type.element_nullable = take_end(text, "?");
  }
  for (const TypeRow& row : type_table()) {
    if (text == row.schema_name) {
      type.base = row.base;
      return type;
    }
  }
  throw std::invalid_argument("a type of the type table, not '" + whole + "'");
}

bool is_number(const std::string& text) {
  if (text.find_first_of("0123456789") == std::string::npos) return false;
  size_t end = 0;
  try {
    static_cast<void>(std::stod(text, &end));
  } catch (const std::exception&) {  // stod throws for text that is not a number
    return false;
  }
  return end == text.size();
}

Default parse_default(const std::string& text, const Type& type) {
  Default value;
  if (text == "None") return value;
  if (text == "True" || text == "False") {
    value.kind = Default::Kind::Bool;
    value.boolean = text == "True";
  } else if (text == "[]") {
    value.kind = Default::Kind::IntList;
  } else if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'') {
    value.kind = Default::Kind::Str;
    value.text = text.substr(1, text.size() - 2);
  } else if (is_digits(text[0] == '-' ? text.substr(1) : text)) {
    const long long integer = std::stoll(text);
    value.kind = type.list ? Default::Kind::IntList : Default::Kind::Int;
    value.integer = integer;
    // As for an argument: one number stands for int[N].
    if (type.list) value.integers.assign(static_cast<size_t>(type.size), integer);
  } else if (is_number(text)) {
    value.kind = Default::Kind::Float;
    value.text = text;
  } else {
    throw std::invalid_argument("a default of None, True, False, [], a number or 'text', not " + text);
  }
  return value;
}

// Splits at the commas.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (size_t start = 0; start < list.size();) {
    const size_t comma = std::min(list.find(',', start), list.size());
    parts.push_back(trim(list.substr(start, comma - start)));
    start = comma + 1;
  }
  return parts;
}

Argument parse_argument(std::string part) {
  Argument argument;
  std::string text;
  if (const size_t equals = part.find('='); equals != std::string::npos) {
    text = part.substr(equals + 1);
    part.resize(equals);
  }
  const size_t space = part.rfind(' ');
  if (space == std::string::npos) throw std::invalid_argument("'Type name', not '" + part + "'");
  argument.name = part.substr(space + 1);
  std::string type = trim(part.substr(0, space));
  argument.variadic = take_end(type, "...");
  argument.type = parse_schema_type(type);
  if (argument.variadic) argument.type.list = true;
  if (!text.empty()) argument.default_value = parse_default(text, argument.type);
  return argument;
}

Return parse_return(const std::string& part) {
  const size_t space = part.rfind(' ');
  if (space == std::string::npos) return {parse_schema_type(part), "", ""};
  return {parse_schema_type(part.substr(0, space)), part.substr(space + 1), ""};
}

}  // namespace

Declaration parse_function(const std::string& text) {
  Declaration function;
  const size_t open = text.find('(');
  const size_t close = text.find(") -> ");
  if (open == std::string::npos || close == std::string::npos) {
    throw std::invalid_argument("name(Type argument, …) -> Type");
  }
  function.name = trim(text.substr(0, open));
  bool kwarg_only = false;
  for (const std::string& part : split(text.substr(open + 1, close - open - 1))) {
    if (part == "*") {
      kwarg_only = true;
      continue;
    }
    function.arguments.push_back(parse_argument(part));
    function.arguments.back().kwarg_only = kwarg_only;
  }
  std::string result = trim(text.substr(close + 5));
  if (!result.empty() && result.front() == '(' && result.back() == ')') result = result.substr(1, result.size() - 2);
  for (const std::string& part : split(result)) function.returns.push_back(parse_return(part));
  return function;
}

}  // namespace codegen
