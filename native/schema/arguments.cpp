#include "native/schema/arguments.h"

#include <cstring>

namespace ltn {
namespace {

// "Scalar alpha=1" -> { "Scalar", "alpha" }; "*" -> nothing.
void add_argument(std::vector<SchemaArgument>& arguments, std::string part) {
  const size_t equals = part.find('=');
  if (equals != std::string::npos) part.resize(equals);
  const size_t first = part.find_first_not_of(' ');
  if (first == std::string::npos) return;
  part = part.substr(first, part.find_last_not_of(' ') - first + 1);
  const size_t space = part.rfind(' ');
  if (space == std::string::npos) return;  // the "*" before keyword-only arguments
  arguments.push_back({part.substr(0, space), part.substr(space + 1)});
}

}  // namespace

std::vector<SchemaArgument> schema_arguments(const char* schema) {
  std::vector<SchemaArgument> arguments;
  const char* open = std::strchr(schema, '(');
  if (open == nullptr) return arguments;
  int depth = 0;  // inside "(a!)" or "[2]"
  bool quoted = false;
  std::string part;
  for (const char* c = open + 1; *c != '\0'; ++c) {
    if (quoted && *c == '\\' && c[1] != '\0') {
      part += *c++;
    } else if (*c == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      if (*c == ')' && depth == 0) break;
      if (*c == '(' || *c == '[') ++depth;
      if (*c == ')' || *c == ']') --depth;
      if (*c == ',' && depth == 0) {
        add_argument(arguments, std::move(part));
        part.clear();
        continue;
      }
    }
    part += *c;
  }
  add_argument(arguments, std::move(part));
  return arguments;
}

}  // namespace ltn
