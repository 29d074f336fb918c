#include "codegen/bindings/spec.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <stdexcept>

#include "codegen/bindings/type_table.h"
#include "codegen/common/diagnostics.h"

namespace codegen {
namespace {

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

// One YAML file of the spec, with checked access.
class File {
 public:
  explicit File(const std::filesystem::path& path) : name_(path.string()) {
    try {
      root_ = YAML::LoadFile(name_);
    } catch (const YAML::BadFile&) {
      throw Error(name_, 0, "the file cannot be read");
    } catch (const YAML::ParserException& error) {
      throw Error(name_, error.mark.line + 1, error.msg, "well-formed YAML");
    }
  }

  const YAML::Node& root() const { return root_; }

  std::string text(const YAML::Node& parent, const char* key) const {
    const YAML::Node node = parent[key];
    if (!node) throw Error(name_, line_of(parent), std::string("the key '") + key + "' is missing", "a string");
    if (!node.IsScalar()) throw Error(name_, line_of(node), std::string("'") + key + "' has a wrong kind", "a string");
    return node.as<std::string>();
  }

  YAML::Node list(const YAML::Node& parent, const char* key) const {
    const YAML::Node node = parent[key];
    if (!node) throw Error(name_, line_of(parent), std::string("the key '") + key + "' is missing", "a list");
    if (!node.IsSequence()) throw Error(name_, line_of(node), std::string("'") + key + "' has a wrong kind", "a list");
    return node;
  }

  [[noreturn]] void fail(const YAML::Node& node, const std::string& message, const std::string& expected) const {
    throw Error(name_, line_of(node), message, expected);
  }

 private:
  std::string name_;
  YAML::Node root_;
};

void load_exceptions(const std::filesystem::path& path, Spec& spec) {
  const File file(path);
  for (const YAML::Node& node : file.list(file.root(), "ops")) {
    Exception exception;
    const std::string status = file.text(node, "status");
    if (status == "manual") {
      exception.status = Exception::Status::Manual;
    } else if (status != "skipped") {
      file.fail(node["status"], "unknown status '" + status + "'", "'manual' or 'skipped'");
    }
    exception.reason = file.text(node, "reason");
    exception.line = line_of(node);
    if (!spec.exceptions.emplace(file.text(node, "op"), exception).second) {
      file.fail(node, "the op is listed twice", "one entry per op");
    }
  }
  for (const YAML::Node& node : file.list(file.root(), "no_method")) {
    spec.no_method[file.text(node, "name")] = file.text(node, "reason");
  }
  for (const YAML::Node& node : file.list(file.root(), "tensor_members")) {
    spec.reserved_members.push_back(node.as<std::string>());
  }
}

ClassSpec load_class(const std::filesystem::path& path) {
  const File file(path);
  ClassSpec result;
  result.name = file.text(file.root(), "class");
  result.header = file.text(file.root(), "header");
  result.doc = file.text(file.root(), "doc");
  for (const YAML::Node& node : file.list(file.root(), "functions")) {
    ClassFunction function;
    try {
      function.declaration = parse_function(file.text(node, "schema"));
    } catch (const std::invalid_argument& error) {
      file.fail(node["schema"], "the schema cannot be parsed", error.what());
    }
    const auto& arguments = function.declaration.arguments;
    function.is_static = arguments.empty() || arguments[0].name != "self";
    function.declaration.schema = result.name + "::" + file.text(node, "schema");
    function.cpp = file.text(node, "cpp");
    function.doc = file.text(node, "doc");
    result.functions.push_back(std::move(function));
  }
  return result;
}

std::string trim(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Type parse_schema_type(std::string text) {
  Type type;
  const auto ends_with = [&](const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
  };
  if (ends_with("?")) {
    type.nullable = true;
    text.pop_back();
  }
  if (ends_with("[]")) {
    type.list = true;
    text.resize(text.size() - 2);
  }
  for (const TypeRow& row : type_table()) {
    if (text == row.schema_name) {
      type.base = row.base;
      return type;
    }
  }
  throw std::invalid_argument("a type of the type table, not '" + text + "'");
}

Default parse_default(const std::string& text) {
  Default value;
  if (text == "None") return value;
  if (text == "True" || text == "False") {
    value.kind = Default::Kind::Bool;
    value.boolean = text == "True";
    return value;
  }
  if (!text.empty() && text.find_first_not_of("-0123456789") == std::string::npos) {
    value.kind = Default::Kind::Int;
    value.integer = std::stoll(text);
    return value;
  }
  throw std::invalid_argument("a default of None, True, False or an integer, not '" + text + "'");
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
  std::string list = text.substr(open + 1, close - open - 1);
  bool kwarg_only = false;
  for (size_t start = 0; start < list.size();) {
    const size_t comma = std::min(list.find(',', start), list.size());
    std::string part = trim(list.substr(start, comma - start));
    start = comma + 1;
    if (part == "*") {
      kwarg_only = true;
      continue;
    }
    Argument argument;
    argument.kwarg_only = kwarg_only;
    if (const size_t equals = part.find('='); equals != std::string::npos) {
      argument.default_value = parse_default(part.substr(equals + 1));
      part.resize(equals);
    }
    const size_t space = part.rfind(' ');
    if (space == std::string::npos) throw std::invalid_argument("'Type name', not '" + part + "'");
    argument.name = part.substr(space + 1);
    argument.type = parse_schema_type(trim(part.substr(0, space)));
    function.arguments.push_back(std::move(argument));
  }
  const std::string result = trim(text.substr(close + 5));
  if (result != "()") function.returns.push_back({parse_schema_type(result), "", ""});
  return function;
}

Spec load_spec(const std::filesystem::path& folder) {
  Spec spec;
  load_exceptions(folder / "exceptions.yaml", spec);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "classes")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& path : files) spec.classes.push_back(load_class(path));
  return spec;
}

}  // namespace codegen
