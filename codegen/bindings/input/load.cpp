#include "codegen/bindings/input/load.h"

#include <yaml-cpp/yaml.h>

#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include "codegen/bindings/input/load_default.h"
#include "codegen/common/diagnostics.h"
#include "codegen/common/output.h"
#include "codegen/common/schema_text.h"
#include "codegen/model/type_table.h"

namespace codegen {
namespace {

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

// Reads values from YAML nodes and throws Error with the line for anything unexpected.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  [[noreturn]] void fail(int line, const std::string& message, const std::string& expected) const {
    throw Error(file_, line, message, expected);
  }

  void need_map(const YAML::Node& node, const std::string& what) const {
    if (!node.IsMap()) fail(line_of(node), what + " is not a map", "`key: value` lines");
  }

  YAML::Node need(const YAML::Node& map, const std::string& key) const {
    const YAML::Node node = map[key];
    if (!node) fail(line_of(map), "key '" + key + "' is missing", "`" + key + ":`");
    return node;
  }

  std::string text(const YAML::Node& map, const std::string& key) const {
    const YAML::Node node = need(map, key);
    if (!node.IsScalar()) fail(line_of(node), "'" + key + "' is not a scalar", "a scalar");
    return node.Scalar();
  }

  std::string nonempty_text(const YAML::Node& map, const std::string& key) const {
    const std::string value = text(map, key);
    if (value.empty()) fail(line_of(map[key]), "'" + key + "' is empty", "a text");
    return value;
  }

  YAML::Node list(const YAML::Node& map, const std::string& key) const {
    const YAML::Node node = need(map, key);
    if (!node.IsSequence()) fail(line_of(node), "'" + key + "' is not a list", "a list");
    return node;
  }

  // An absent flag is false, because torchgen omits false ones.
  bool flag(const YAML::Node& map, const std::string& key) const {
    if (!map[key]) return false;
    const std::string value = text(map, key);
    if (value != "true" && value != "false")
      fail(line_of(map[key]), "'" + key + "' is '" + value + "'", "true or false");
    return value == "true";
  }

  int size(const YAML::Node& map) const {
    if (!map["size"]) return 0;
    const std::string value = text(map, "size");
    const bool digits =
        !value.empty() && value.size() < 5 && value.find_first_not_of("0123456789") == std::string::npos;
    const int result = digits ? std::stoi(value) : 0;
    if (result < 1) fail(line_of(map["size"]), "'size' is '" + value + "'", "a positive integer");
    return result;
  }

 private:
  std::string file_;
};

Type load_type(const Reader& reader, const YAML::Node& node) {
  TypeFields fields;
  fields.type = reader.nonempty_text(node, "type");
  fields.dynamic_type = reader.nonempty_text(node, "dynamic_type");
  fields.is_nullable = reader.flag(node, "is_nullable");
  fields.size = reader.size(node);
  try {
    return parse_type(fields);
  } catch (const std::invalid_argument& error) {
    reader.fail(line_of(node["dynamic_type"]), error.what(), "a spelling in codegen/model/type_table.cpp");
  }
}

Argument load_argument(const Reader& reader, const YAML::Node& node) {
  reader.need_map(node, "an argument");
  Argument argument;
  argument.name = reader.nonempty_text(node, "name");
  reader.need(node, "is_nullable");
  argument.type = load_type(reader, node);
  const YAML::Node annotation = reader.need(node, "annotation");
  if (!annotation.IsNull()) argument.alias = reader.text(node, "annotation");
  argument.mutated = argument.alias.find('!') != std::string::npos;
  argument.out = reader.flag(node, "output");
  argument.kwarg_only = reader.flag(node, "kwarg_only") || argument.out;
  if (node["default"]) {
    const std::string text = reader.text(node, "default");
    try {
      argument.default_value = parse_default(text, argument.type);
    } catch (const std::invalid_argument& expected) {
      reader.fail(line_of(node["default"]), "bad default `" + text + "` for '" + argument.name + "'", expected.what());
    }
  }
  return argument;
}

std::vector<Argument> load_arguments(const Reader& reader, const YAML::Node& entry) {
  std::vector<Argument> arguments;
  std::set<std::string> names;
  for (const YAML::Node& node : reader.list(entry, "schema_order_arguments")) {
    arguments.push_back(load_argument(reader, node));
    if (!names.insert(arguments.back().name).second) {
      reader.fail(line_of(node["name"]), "duplicate argument '" + arguments.back().name + "'", "unique names");
    }
  }
  return arguments;
}

std::vector<Return> load_returns(const Reader& reader, const YAML::Node& entry) {
  std::vector<Return> returns;
  for (const YAML::Node& node : reader.list(entry, "returns")) {
    reader.need_map(node, "a return");
    Return result;
    result.type = load_type(reader, node);
    if (node["field_name"]) result.name = reader.nonempty_text(node, "field_name");
    returns.push_back(result);
  }
  return returns;
}

// The structured fields lack the annotations of returns, so the aliases come from the schema's text, which is checked
// against the fields.
void load_aliases(const Reader& reader, const YAML::Node& entry, Declaration& declaration) {
  const int line = line_of(entry["schema_string"]);
  const std::string start = "aten::" + declaration.full_name() + "(";
  if (declaration.schema.compare(0, start.size(), start) != 0) {
    reader.fail(line, "the schema belongs to another operator", "`" + start + "…`");
  }
  SchemaText text;
  try {
    text = cut_schema(declaration.schema);
  } catch (const std::invalid_argument& error) {
    reader.fail(line, std::string("malformed schema: ") + error.what(), "`name(arguments) -> returns`");
  }
  if (text.arguments.size() != declaration.arguments.size() || text.returns.size() != declaration.returns.size()) {
    reader.fail(line, "the schema's arguments or returns differ from the lists",
                std::to_string(declaration.arguments.size()) + " arguments and " +
                    std::to_string(declaration.returns.size()) + " returns");
  }
  for (std::size_t i = 0; i < text.returns.size(); ++i) declaration.returns[i].alias = text.returns[i].annotation;
}

void load_method_of(const Reader& reader, const YAML::Node& entry, Declaration& declaration) {
  for (const YAML::Node& node : reader.list(entry, "method_of")) {
    const std::string value = node.IsScalar() ? node.Scalar() : "";
    if (value == "Tensor") {
      declaration.is_method = true;
    } else if (value == "namespace") {
      declaration.is_function = true;
    } else if (value != "Type") {
      reader.fail(line_of(node), "unknown 'method_of' entry '" + value + "'", "Type, Tensor or namespace");
    }
  }
}

Declaration load_declaration(const Reader& reader, const YAML::Node& entry) {
  reader.need_map(entry, "a declaration");
  Declaration declaration;
  declaration.line = line_of(entry);
  declaration.name = reader.nonempty_text(entry, "operator_name");
  declaration.overload = reader.text(entry, "overload_name");
  declaration.schema = reader.nonempty_text(entry, "schema_string");
  declaration.arguments = load_arguments(reader, entry);
  declaration.returns = load_returns(reader, entry);
  declaration.python_module = reader.text(entry, "python_module");
  declaration.ops_header = reader.nonempty_text(entry, "ops_header");
  load_aliases(reader, entry, declaration);
  load_method_of(reader, entry, declaration);
  return declaration;
}

// `# libtorch 1.13.1`, the first line that the declarations tool writes.
std::string load_version(const Reader& reader, const std::string& text) {
  const std::string prefix = "# libtorch ";
  const std::string line = text.substr(0, text.find_first_of("\r\n"));
  if (line.compare(0, prefix.size(), prefix) != 0 || line.size() == prefix.size()) {
    reader.fail(1, "the libtorch version is missing", "`# libtorch <version>` in the first line");
  }
  return line.substr(prefix.size());
}

}  // namespace

Model load_declarations(const std::filesystem::path& path) {
  return load_declarations_text(read_text(path), path.string());
}

Model load_declarations_text(const std::string& text, const std::string& name) {
  const Reader reader(name);
  Model model;
  model.libtorch_version = load_version(reader, text);
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsSequence())
      reader.fail(root.IsNull() ? 1 : line_of(root), "the list of declarations is missing", "`- name: …` entries");
    std::map<std::string, int> lines;
    for (const YAML::Node& entry : root) {
      Declaration declaration = load_declaration(reader, entry);
      const auto [first, added] = lines.emplace(declaration.full_name(), declaration.line);
      if (!added) {
        reader.fail(declaration.line, "duplicate declaration of '" + declaration.full_name() + "'",
                    "only the one in line " + std::to_string(first->second));
      }
      model.declarations.push_back(std::move(declaration));
    }
  } catch (const YAML::Exception& error) {
    reader.fail(error.mark.is_null() ? 0 : error.mark.line + 1, "malformed YAML: " + error.msg, "torchgen's format");
  }
  return model;
}

}  // namespace codegen
