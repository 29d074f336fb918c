#include "codegen/declarations/declaration.h"

#include <algorithm>
#include <map>
#include <vector>

#include "codegen/declarations/cpp_types.h"
#include "codegen/declarations/defaults.h"
#include "codegen/declarations/yaml_text.h"

namespace codegen {
namespace {

// Key to YAML scalar; sorted, as torchgen's dumper does it.
using Fields = std::map<std::string, std::string>;

std::string yaml_bool(bool value) { return value ? "true" : "false"; }

// "- key: value" lines of one list item of the entry.
std::string item_yaml(const Fields& fields) {
  std::string text;
  for (const auto& [key, value] : fields) text += (text.empty() ? "  - " : "    ") + key + ": " + value + "\n";
  return text;
}

std::string list_yaml(const std::string& key, const std::vector<Fields>& items) {
  if (items.empty()) return "  " + key + ": []\n";
  std::string text = "  " + key + ":\n";
  for (const Fields& item : items) text += item_yaml(item);
  return text;
}

std::string line_yaml(const std::string& key, const std::string& value) { return "  " + key + ": " + value + "\n"; }

// torchgen's cpp.return_names.
std::string return_name(const Schema& schema, std::size_t index) {
  const std::string& own = schema.returns[index].name;
  if (schema.is_inplace()) return "self";
  if (schema.is_out()) {
    std::size_t position = index;
    for (const SchemaArgument& argument : schema.arguments) {
      if (argument.out && position-- == 0) return argument.name;
    }
  }
  if (own.empty()) return schema.returns.size() == 1 ? "result" : "result" + std::to_string(index);
  const bool taken = std::any_of(schema.arguments.begin(), schema.arguments.end(),
                                 [&](const SchemaArgument& argument) { return argument.name == own; });
  return taken ? own + "_return" : own;
}

std::string return_type(const SchemaReturn& value, const OperatorStyle& style) {
  return value.symbolic ? "c10::SymInt" : return_type(value.type, value.mutated, style);
}

std::vector<Fields> return_items(const Schema& schema, const OperatorStyle& style) {
  std::vector<Fields> items;
  for (std::size_t i = 0; i < schema.returns.size(); ++i) {
    const SchemaReturn& value = schema.returns[i];
    Fields fields = {{"dynamic_type", yaml_string(dynamic_type(value.type, style))},
                     {"name", yaml_string(return_name(schema, i))},
                     {"type", yaml_string(return_type(value, style))}};
    if (!value.name.empty()) fields["field_name"] = yaml_string(value.name);
    items.push_back(fields);
  }
  return items;
}

// The schema's name of the return that an out argument fills, or "".
std::string field_name(const Schema& schema, std::size_t argument) {
  std::size_t index = 0;
  for (std::size_t i = 0; i < argument; ++i) index += schema.arguments[i].out ? 1 : 0;
  return index < schema.returns.size() ? schema.returns[index].name : "";
}

Fields argument_item(const Schema& schema, std::size_t index, const OperatorStyle& style) {
  const SchemaArgument& argument = schema.arguments[index];
  const Type& type = argument.type;
  Fields fields = {{"annotation", argument.annotation.empty() ? "null" : yaml_string(argument.annotation)},
                   {"dynamic_type", yaml_string(dynamic_type(type, style))},
                   {"is_nullable", yaml_bool(type.nullable || type.element_nullable)},
                   {"name", yaml_string(argument.name)},
                   {"type", yaml_string(argument_type(type, argument.mutated, style))}};
  if (argument.default_text) {
    fields["default"] = yaml_default(cpp_default(*argument.default_text, type, style.spelling));
  }
  if (argument.kwarg_only) fields["kwarg_only"] = "true";
  if (argument.out) {
    fields["output"] = fields["allocate"] = "true";
    const std::string field = field_name(schema, index);
    if (!field.empty()) fields["field_name"] = yaml_string(field);
  }
  // The size of bool lists is only in their C++ type.
  if (type.list && type.size > 0 && type.base != Base::Bool) fields["size"] = std::to_string(type.size);
  return fields;
}

// The first of the four consecutive arguments that the C++ API combines into TensorOptions, or -1.
int tensor_options_at(const Schema& schema) {
  const std::vector<std::pair<std::string, Base>> wanted = {
      {"dtype", Base::Dtype}, {"layout", Base::Layout}, {"device", Base::Device}, {"pin_memory", Base::Bool}};
  const auto& arguments = schema.arguments;
  for (std::size_t first = 0; first + wanted.size() <= arguments.size(); ++first) {
    bool matches = true;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const SchemaArgument& argument = arguments[first + i];
      matches = matches && argument.kwarg_only && argument.name == wanted[i].first &&
                argument.type.base == wanted[i].second && !argument.type.list;
    }
    if (matches) return static_cast<int>(first);
  }
  return -1;
}

Fields tensor_options_item(const Schema& schema, int first) {
  Fields fields = {{"annotation", "null"},   {"dynamic_type", "at::TensorOptions"},
                   {"is_nullable", "false"}, {"kwarg_only", "true"},
                   {"name", "options"},      {"type", "at::TensorOptions"}};
  const auto begin = schema.arguments.begin() + first;
  const bool all_none = std::all_of(begin, begin + 4, [](const SchemaArgument& a) { return a.default_text == "None"; });
  if (all_none) {
    fields["default"] = "'{}'";
  } else if (begin->default_text == "long") {
    fields["default"] = "at::kLong";
  }
  return fields;
}

// The C++ API's order: out arguments first, TensorOptions as one.
std::vector<Fields> api_items(const Schema& schema, const std::vector<Fields>& schema_order) {
  std::vector<Fields> items;
  for (std::size_t i = 0; i < schema_order.size(); ++i) {
    if (schema.arguments[i].out) items.push_back(schema_order[i]);
  }
  const int options = tensor_options_at(schema);
  for (int i = 0; i < static_cast<int>(schema_order.size()); ++i) {
    if (schema.arguments[static_cast<std::size_t>(i)].out) continue;
    if (i == options) items.push_back(tensor_options_item(schema, options));
    if (options < 0 || i < options || i >= options + 4) items.push_back(schema_order[static_cast<std::size_t>(i)]);
  }
  return items;
}

std::string cpp_signature(const Schema& schema, const OperatorStyle& style) {
  std::string returns;
  for (const SchemaReturn& value : schema.returns) {
    returns += (returns.empty() ? "" : ",") + return_type(value, style);
  }
  if (schema.returns.empty()) returns = "void";
  if (schema.returns.size() > 1) returns = "::std::tuple<" + returns + ">";
  std::string arguments;
  for (const SchemaArgument& argument : schema.arguments) {
    arguments += (arguments.empty() ? "" : ", ") + argument_type(argument.type, argument.mutated, style);
  }
  return returns + " (" + arguments + ")";
}

}  // namespace

bool Schema::is_inplace() const {
  const bool dunder = name.size() > 4 && name.compare(0, 2, "__") == 0 && name.compare(name.size() - 2, 2, "__") == 0;
  // torchgen forbids other dunder names that begin with an i.
  return dunder ? name[2] == 'i' : !name.empty() && name.back() == '_';
}

std::string declaration_yaml(const Schema& schema, const DeclarationFacts& facts, const Spelling& spelling) {
  const OperatorStyle style = style_of(facts.ops.signature, spelling);
  std::vector<Fields> arguments;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) arguments.push_back(argument_item(schema, i, style));
  const bool factory = tensor_options_at(schema) >= 0 && !facts.is_method;

  std::string text = "- name: " + yaml_string(schema.name + (schema.is_out() ? "_out" : "")) + "\n";
  text += line_yaml("operator_name", yaml_string(schema.name));
  text += line_yaml("overload_name", yaml_string(schema.overload));
  text += line_yaml("schema_string", yaml_string(schema.text));
  text += list_yaml("arguments", api_items(schema, arguments));
  text += line_yaml("schema_order_cpp_signature", yaml_string(cpp_signature(schema, style)));
  text += list_yaml("schema_order_arguments", arguments);
  text += "  method_of:\n  - Type\n";
  if (facts.is_method) text += "  - Tensor\n";
  if (facts.is_function) text += "  - namespace\n";
  text += line_yaml("mode", "native");
  text += line_yaml("python_module", yaml_string(facts.python_module));
  text += list_yaml("returns", return_items(schema, style));
  text += line_yaml("inplace", yaml_bool(schema.is_inplace()));
  text += line_yaml("is_factory_method", yaml_bool(factory));
  // The header says that structured operators with a composite kernel lack their own kernel.
  text += line_yaml("abstract", yaml_bool(facts.dispatch || schema.has_cpu_kernel));
  text += line_yaml("has_math_kernel", yaml_bool(schema.has_math_kernel));
  text += line_yaml("ops_header", yaml_string(facts.ops.header));
  return text;
}

}  // namespace codegen
