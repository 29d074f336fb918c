#include "codegen/bindings/spec/spec.h"

#include <stdexcept>

#include "codegen/bindings/spec/guards.h"
#include "codegen/bindings/spec/parse_function.h"
#include "codegen/bindings/spec/spec_file.h"
#include "codegen/bindings/spec/type_rules.h"
#include "codegen/bindings/text/names.h"

namespace codegen {
namespace {

void load_exceptions(const std::filesystem::path& path, Spec& spec) {
  const File file(path);
  for (const YAML::Node& node : file.list(file.root(), "skipped")) {
    const Skipped skipped{file.text(node, "reason"), line_of(node)};
    if (!spec.skipped.emplace(file.text(node, "op"), skipped).second) {
      file.fail(node, "the op is listed twice", "one entry per op");
    }
  }
  for (const YAML::Node& node : file.list(file.root(), "no_method")) {
    spec.no_method[file.text(node, "name")] = file.text(node, "reason");
  }
  for (const YAML::Node& node : file.list(file.root(), "own_types")) {
    spec.own_types[file.text(node, "name")] = file.text(node, "reason");
  }
  for (const YAML::Node& node : file.list(file.root(), "not_chosen")) {
    spec.not_chosen.insert(node.as<std::string>());
  }
  for (const YAML::Node& node : file.list(file.root(), "number_tensors")) {
    spec.number_tensors.insert(node.as<std::string>());
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
    if (const YAML::Node chains = node["chains"]; chains) {
      if (!chains.IsScalar() || chains.as<std::string>() != "true" || !function.declaration.returns.empty()) {
        file.fail(chains, "'chains' has an invalid value", "'true', in a function that returns nothing");
      }
      function.chains = true;
    }
    if (const YAML::Node property = node["property"]; property) {
      const bool alone = arguments.size() == 1 && !function.is_static && function.declaration.returns.size() == 1;
      if (!property.IsScalar() || property.as<std::string>() != "true" || !alone) {
        file.fail(property, "'property' has an invalid value",
                  "'true', in a function that only takes `self` and returns a value");
      }
      function.property = true;
    }
    result.functions.push_back(std::move(function));
  }
  return result;
}

Declaration parse_schema(const File& file, const YAML::Node& node) {
  try {
    Declaration declaration = parse_function(node.as<std::string>());
    declaration.schema = node.as<std::string>();
    return declaration;
  } catch (const std::invalid_argument& error) {
    file.fail(node, "the schema cannot be parsed", error.what());
  }
}

std::string space_of(const std::string& name) { return name == "torch" ? "" : name; }

// One entry of a group of public.yaml: a schema, or a map with further keys.
PublicFunction load_public(const File& file, const YAML::Node& node, const YAML::Node& group) {
  PublicFunction function;
  function.file = file.text(group, "file");
  const bool plain = node.IsScalar();
  if (plain) {
    function.signatures.push_back(parse_schema(file, node));
  } else {
    for (const YAML::Node& schema : file.list(node, "schemas")) {
      function.signatures.push_back(parse_schema(file, schema));
    }
    if (node["typed"]) {
      for (const YAML::Node& schema : file.list(node, "typed")) function.typed.push_back(parse_schema(file, schema));
    }
    if (node["ts"]) function.ts = node["ts"].as<std::map<std::string, std::string>>();
  }
  function.name = function.signatures[0].name;
  function.js_name = camel_case(function.name);
  function.reason = !plain && node["reason"] ? file.text(node, "reason") : file.text(group, "reason");
  function.extends = (!plain && node["extends"] ? node["extends"] : group["extends"]).as<bool>(false);
  function.needs = group["needs"].as<std::string>("");
  const YAML::Node spaces = !plain && node["spaces"] ? file.list(node, "spaces") : file.list(group, "spaces");
  for (const YAML::Node& space : spaces) {
    function.spaces.push_back(space_of(space.as<std::string>()));
  }
  function.line = line_of(node);
  return function;
}

void load_publics(const std::filesystem::path& path, Spec& spec) {
  if (!std::filesystem::exists(path)) return;
  const File file(path);
  for (const YAML::Node& node : file.list(file.root(), "namespaces")) {
    Namespace closed;
    for (const YAML::Node& op : file.list(node, "ops")) closed.ops.insert(op.as<std::string>());
    if (node["aliases"]) closed.aliases = node["aliases"].as<std::map<std::string, std::string>>();
    closed.open = node["open"].as<bool>(false);
    spec.closed[space_of(file.text(node, "space"))] = closed;
  }
  for (const YAML::Node& group : file.list(file.root(), "groups")) {
    for (const YAML::Node& node : file.list(group, "functions")) {
      spec.publics.push_back(load_public(file, node, group));
    }
  }
}

}  // namespace

Spec load_spec(const std::filesystem::path& folder) {
  Spec spec;
  load_exceptions(folder / "exceptions.yaml", spec);
  spec.guards = load_guards(folder / "guards");
  load_publics(folder / "public.yaml", spec);
  for (const std::filesystem::path& path : yaml_files(folder / "classes")) spec.classes.push_back(load_class(path));
  spec.type_rules = load_type_rules(folder / "types.yaml");
  spec.string_rules = load_string_rules(folder / "types.yaml");
  return spec;
}

}  // namespace codegen
