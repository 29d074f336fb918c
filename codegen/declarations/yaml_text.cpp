#include "codegen/declarations/yaml_text.h"

#include <cctype>
#include <unordered_set>

namespace codegen {
namespace {

// Plain words that some YAML readers take for a boolean or null.
bool is_reserved(const std::string& text) {
  static const std::unordered_set<std::string> words = {"y",   "n",    "yes",   "no",   "on",
                                                        "off", "true", "false", "null", "~"};
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return words.count(lower) != 0;
}

bool is_plain(const std::string& text) {
  if (text.empty() || is_reserved(text)) return false;
  const auto first = static_cast<unsigned char>(text[0]);
  if (!std::isalpha(first) && first != '_') return false;  // numbers, quotes and indicators
  if (text.back() == ' ' || text.back() == ':') return false;
  return text.find(": ") == std::string::npos && text.find(" #") == std::string::npos;
}

}  // namespace

std::string yaml_string(const std::string& text) {
  if (is_plain(text)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace codegen
