// Generic signatures: the rules of types.yaml in terms of a call's parameters.
#include <algorithm>

#include "codegen/bindings/dts/text.h"
#include "codegen/bindings/spec/type_rules.h"
#include "codegen/bindings/text/js_text.h"
#include "codegen/bindings/text/names.h"
#include "codegen/model/type_table.h"

namespace codegen {
namespace {

// The argument that the op returns, or nullptr.
const Argument* returned_argument(const Declaration& declaration) {
  if (declaration.returns.size() != 1 || declaration.returns[0].type.list) return nullptr;
  for (const Argument& argument : declaration.arguments) {
    if (!argument.mutated || argument.type.base != Base::Tensor || argument.type.list) continue;
    if (argument.alias == declaration.returns[0].alias) return &argument;
  }
  return nullptr;
}

// A default as a type.
std::string literal_type(const Default& value) {
  switch (value.kind) {
    case Default::Kind::None:
      return "null";
    case Default::Kind::Str:
    case Default::Kind::Dtype:
    case Default::Kind::MemoryFormat:
      return js_string(value.text);
    case Default::Kind::IntList:
      return "readonly " + default_json(value);
    default:
      return default_json(value);
  }
}

TypeParameter type_parameter_of(const Argument& argument) {
  TypeParameter parameter;
  parameter.name = type_parameter_name(argument);
  parameter.constraint = ts_argument(argument.type);
  parameter.literal = argument.type.base != Base::Tensor || argument.type.list;
  if (argument.default_value) parameter.fallback = literal_type(*argument.default_value);
  return parameter;
}

Parameter* parameter_named(CallShape& shape, const std::string& name) {
  for (std::vector<Parameter>* list : {&shape.positional, &shape.named}) {
    for (Parameter& parameter : *list) {
      if (parameter.name == name) return &parameter;
    }
  }
  return nullptr;
}

// A further type that the argument's type must satisfy, or "".
std::string check_of(const TypeRule* rule, const Argument& argument, const Declaration& declaration) {
  if (rule == nullptr) return "";
  const auto check = rule->checks.find(argument.name);
  return check == rule->checks.end() ? "" : instantiate(check->second, declaration);
}

bool binds(const TypeRule* rule, const Argument& argument) {
  return rule != nullptr && std::any_of(rule->binds.begin(), rule->binds.end(),
                                        [&](const TypeRule::Bind& bind) { return bind.argument == argument.name; });
}

}  // namespace

void apply_rule(CallShape& shape, const TypeRule* rule, const Declaration& declaration, int self, ResultStyle style) {
  const Argument* const returned = returned_argument(declaration);
  for (size_t i = 0; i < declaration.arguments.size(); ++i) {
    const Argument& argument = declaration.arguments[i];
    if (!(argument.out ? &argument == returned : binds(rule, argument) || &argument == returned)) continue;
    const TypeParameter parameter = type_parameter_of(argument);
    shape.type_parameters.push_back(parameter);
    const std::string check = check_of(rule, argument, declaration);
    if (!check.empty()) ++shape.checks;
    const bool tensor = argument.type.base == Base::Tensor && !argument.type.list && !argument.type.nullable;
    const std::string type = check.empty() ? parameter.name
                             : tensor      ? "Fits<" + parameter.name + ", " + check + ">"
                                           : parameter.name + " & " + check;
    if (style == ResultStyle::Method && static_cast<int>(i) == self) {
      shape.receiver = type;
    } else if (Parameter* const target =
                   parameter_named(shape, argument.out ? "out" : argument_js_name(argument.name))) {
      target->type = type;
    }
  }
  const bool kept = returned != nullptr && (returned->out || rule == nullptr || !rule->reshapes);
  if (kept) {
    shape.result = type_parameter_name(*returned);
  } else if (rule != nullptr) {
    std::vector<std::string> results;
    for (const std::string& result : rule->results) results.push_back(instantiate(result, declaration));
    shape.result = result_type(declaration, results);
  }
  if (rule == nullptr || !shape.spread) return;
  for (const Argument& argument : declaration.arguments) {
    if (argument_js_name(argument.name) != shape.positional[0].name || !binds(rule, argument)) continue;
    shape.spread_parameter = type_parameter_name(argument);
    shape.spread_check = check_of(rule, argument, declaration);
  }
}

void name_strings(CallShape& shape, const Spec& spec, const Declaration& declaration) {
  const std::string string = "string";
  for (const Argument& argument : declaration.arguments) {
    const StringRule* const rule = string_rule_of(spec, declaration, argument);
    if (rule == nullptr) continue;
    const auto name_values = [&](std::string& type) {
      if (type == string || type == string + " | null") type = rule->type + type.substr(string.size());
    };
    Parameter* const parameter = parameter_named(shape, argument_js_name(argument.name));
    if (parameter != nullptr) name_values(parameter->type);
    for (TypeParameter& type : shape.type_parameters) {
      if (type.name == type_parameter_name(argument)) name_values(type.constraint);
    }
  }
}

void accept_device_strings(CallShape& shape) {
  const std::string device = "Device";
  const std::string parameter_name = "TDevice";
  bool found = false;
  for (std::vector<Parameter>* parameters : {&shape.positional, &shape.named}) {
    for (Parameter& parameter : *parameters) {
      if (parameter.type != device && parameter.type != device + " | null") continue;
      parameter.type = "DeviceLike<" + parameter_name + ">" + parameter.type.substr(device.size());
      found = true;
    }
  }
  if (found) shape.type_parameters.push_back({parameter_name, "string", device, true});
}

}  // namespace codegen
