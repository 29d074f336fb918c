#include "codegen/common/schema_text.h"

#include <cctype>
#include <stdexcept>

namespace codegen {
namespace {

// Scans text and tracks whether the position is inside brackets or a quoted string.
class Depth {
 public:
  // Takes the next character; true if it is outside all brackets and quotes.
  bool outside(char c) {
    if (quote_ != '\0') {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == quote_) {
        quote_ = '\0';
      }
      return false;
    }
    if (c == '"' || c == '\'') {
      quote_ = c;
      return false;
    }
    if (c == ')' || c == ']') --depth_;
    const bool result = depth_ == 0;
    if (c == '(' || c == '[') ++depth_;
    return result;
  }

 private:
  int depth_ = 0;
  char quote_ = '\0';
  bool escaped_ = false;
};

std::string trim(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  Depth depth;
  for (const char c : text) {
    if (depth.outside(c) && c == ',') {
      parts.push_back(trim(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trim(part).empty()) parts.push_back(trim(part));
  return parts;
}

TextField cut_field(const std::string& text) {
  TextField field;
  std::size_t end = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
  if (end == 0) throw std::invalid_argument("'" + text + "' does not start with a type");
  field.word = text.substr(0, end);
  if (end < text.size() && text[end] == '(') {
    const std::size_t close = text.find(')', end);
    if (close == std::string::npos) throw std::invalid_argument("'" + text + "' has an open '('");
    field.annotation = text.substr(end + 1, close - end - 1);
    end = close + 1;
  }
  const std::size_t space = text.find(' ', end);
  if (space == std::string::npos) return field;
  const std::string rest = trim(text.substr(space));
  const std::size_t equals = rest.find('=');
  field.name = rest.substr(0, equals);
  if (equals != std::string::npos) field.default_text = rest.substr(equals + 1);
  return field;
}

}  // namespace

SchemaText cut_schema(const std::string& schema) {
  const std::size_t open = schema.find('(');
  if (open == std::string::npos) throw std::invalid_argument("no '(' after the operator's name");
  std::size_t close = std::string::npos;
  Depth depth;
  for (std::size_t i = open; i < schema.size() && close == std::string::npos; ++i) {
    if (depth.outside(schema[i]) && schema[i] == ')') close = i;
  }
  const std::string arrow = " -> ";
  if (close == std::string::npos || schema.compare(close + 1, arrow.size(), arrow) != 0) {
    throw std::invalid_argument("no ') -> ' after the arguments");
  }

  SchemaText result;
  for (const std::string& part : split_at_commas(schema.substr(open + 1, close - open - 1))) {
    if (part != "*") result.arguments.push_back(cut_field(part));
  }
  std::string returns = trim(schema.substr(close + 1 + arrow.size()));
  if (returns.size() >= 2 && returns.front() == '(' && returns.back() == ')') {
    returns = returns.substr(1, returns.size() - 2);
  }
  for (const std::string& part : split_at_commas(returns)) result.returns.push_back(cut_field(part));
  return result;
}

}  // namespace codegen
