#include "codegen/bindings/dts/text.h"

#include <algorithm>
#include <set>

#include "codegen/bindings/dts/types.h"
#include "codegen/bindings/text/js_text.h"
#include "codegen/bindings/text/names.h"
#include "codegen/common/diagnostics.h"
#include "codegen/model/type_table.h"

namespace codegen {
namespace {

std::vector<const Argument*> arguments_of(const Declaration& declaration, bool out) {
  std::vector<const Argument*> arguments;
  for (const Argument& argument : declaration.arguments) {
    if (argument.out == out) arguments.push_back(&argument);
  }
  return arguments;
}

// Several outs are passed as one tuple, in the schema's order.
std::string out_type(const std::vector<const Argument*>& outs) {
  if (outs.size() > 1) return repeated_tuple("Tensor", outs.size());
  return ts_argument(outs[0]->type);
}

// Whether the op makes a tensor from options, so that it also takes requiresGrad.
bool is_factory(const Declaration& declaration) {
  for (const std::string name : {"dtype", "layout", "device", "pin_memory"}) {
    const bool has = std::any_of(declaration.arguments.begin(), declaration.arguments.end(),
                                 [&](const Argument& a) { return a.kwarg_only && a.name == name; });
    if (!has) return false;
  }
  return true;
}

}  // namespace

std::string result_type(const Declaration& declaration, const std::vector<std::string>& types) {
  const auto& returns = declaration.returns;
  if (returns.empty()) return "void";
  if (returns.size() == 1) return types[0];
  const bool all_named =
      std::none_of(returns.begin(), returns.end(), [](const Return& result) { return result.name.empty(); });
  std::vector<std::string> elements;
  std::string members;
  for (size_t i = 0; i < returns.size(); ++i) {
    const std::string& type = types[i];
    const std::string name = camel_case(returns[i].name);
    elements.push_back(all_named ? name + ": " + type : type);
    if (!name.empty()) members += (members.empty() ? "" : "; ") + member_name(name) + ": " + type;
  }
  const std::string tuple = "[" + joined(elements, ", ") + "]";
  return members.empty() ? tuple : "NamedTuple<" + tuple + ", { " + members + " }>";
}

namespace {

std::string plain_result(const Declaration& declaration) {
  std::vector<std::string> types;
  for (const Return& result : declaration.returns) types.push_back(ts_result(result.type));
  return result_type(declaration, types);
}

std::string list_text(const std::vector<Parameter>& parameters, const std::string& separator, bool may_be_optional) {
  std::vector<std::string> parts;
  for (const Parameter& parameter : parameters) {
    parts.push_back(parameter.name + (parameter.optional && may_be_optional ? "?: " : ": ") + parameter.type);
  }
  return joined(parts, separator);
}

bool all_optional(const std::vector<Parameter>& parameters) {
  return std::all_of(parameters.begin(), parameters.end(), [](const Parameter& p) { return p.optional; });
}

// Whether a tensor, which has some of these members too, would fit as an options object.
bool fits_tensor(const std::vector<Parameter>& options) {
  static const std::set<std::string> members{"dtype", "layout", "device", "requiresGrad"};
  return all_optional(options) &&
         std::any_of(options.begin(), options.end(), [](const Parameter& p) { return members.count(p.name) != 0; });
}

std::string options_type(const std::vector<Parameter>& options, bool shared) {
  std::vector<Parameter> members = options;
  for (Parameter& member : members) {
    // With exactOptionalPropertyTypes the compiler accepts undefined only if the type includes it.
    if (member.optional && member.type != "undefined") member.type += " | undefined";
  }
  const std::string type = "{ " + list_text(members, "; ", true) + " }" + (shared ? " & Sig" : "");
  return fits_tensor(options) ? "Options<" + type + ">" : type;
}

// "<TSelf extends Tensor, const TDim extends Int = 0>"
std::string type_parameters_text(const std::vector<TypeParameter>& parameters) {
  std::vector<std::string> parts;
  for (const bool required : {true, false}) {
    for (const TypeParameter& parameter : parameters) {
      if (parameter.fallback.empty() != required) continue;
      parts.push_back((parameter.literal ? "const " : "") + parameter.name + " extends " + parameter.constraint +
                      (required ? "" : " = " + parameter.fallback));
    }
  }
  return parts.empty() ? "" : "<" + joined(parts, ", ") + ">";
}

std::string receiver_text(const CallShape& shape) { return shape.receiver.empty() ? "" : "this: " + shape.receiver; }

// One form, with positional parameters and options. A shared one also takes the option `signal`, unless it is
// `complete`.
std::string form(const CallShape& shape, const std::vector<Parameter>& positional,
                 const std::vector<Parameter>& options, bool options_optional, bool complete = false) {
  const bool required_after = !options.empty() && !options_optional;
  std::string text = receiver_text(shape);
  std::vector<Parameter> before = positional;
  // What may be omitted at the end may be undefined before options.
  for (Parameter& parameter : before) {
    if (required_after && parameter.optional) parameter.type += " | undefined";
  }
  const std::string list = list_text(before, ", ", !required_after);
  if (!text.empty() && !list.empty()) text += ", ";
  text += list;
  if (!options.empty()) {
    if (!text.empty()) text += ", ";
    text += std::string("options") + (options_optional ? "?: " : ": ") + options_type(options, shape.shared);
  } else if (shape.shared && !complete) {
    text += text.empty() ? "...rest: Rest" : ", ...rest: Rest";
  }
  return type_parameters_text(shape.type_parameters) + "(" + text + "): " + shape.result;
}

std::vector<Parameter> with_elsewhere(std::vector<Parameter> options, const CallShape& shape) {
  if (options.empty() || !all_optional(options)) return options;
  for (const std::string& name : shape.elsewhere) options.push_back({name, "undefined", true});
  return options;
}

// The list as rest numbers, at least one. They may come from an array of unknown length (`x.view(...sizes)`), so the
// list is one type parameter, and the check says what an empty one lacks. With options after them, only a tuple type
// can express the parameters.
void append_spread_forms(const CallShape& shape, std::vector<std::string>& forms) {
  const std::string& name = shape.positional[0].name;
  std::string receiver = receiver_text(shape);
  if (!receiver.empty()) receiver += ", ";
  const bool generic = !shape.spread_parameter.empty();
  std::vector<TypeParameter> parameters = shape.type_parameters;
  for (TypeParameter& parameter : parameters) {
    if (generic && parameter.name == shape.spread_parameter) parameter.constraint = "readonly Int[]";
  }
  if (all_optional(shape.named)) {
    std::vector<TypeParameter> with_list = parameters;
    if (!generic) with_list.push_back({"TList", "readonly Int[]", "", true});
    const std::string list = generic ? shape.spread_parameter : "TList";
    const std::string some = "AtLeastOne<" + list + ">";
    const std::string check = shape.spread_check.empty() ? some : "FirstOf<" + some + ", " + shape.spread_check + ">";
    forms.push_back(type_parameters_text(with_list) + "(" + receiver + "..." + name + ": " + list + " & " + check +
                    "): " + shape.result);
  }
  if (!shape.named.empty()) {
    forms.push_back(type_parameters_text(parameters) + "(" + receiver + "...args: [..." + name + ": " +
                    (generic ? shape.spread_parameter : "Int[]") +
                    ", options: " + options_type(shape.named, shape.shared) + "]): " + shape.result);
  }
}

// The last list as rest parameters.
void append_rest_forms(const CallShape& shape, std::vector<std::string>& forms) {
  std::vector<Parameter> before(shape.positional.begin(), shape.positional.end() - 1);
  std::string list = list_text(before, ", ", false);
  const std::string head =
      type_parameters_text(shape.type_parameters) + "(" + receiver_text(shape) + (shape.receiver.empty() ? "" : ", ");
  if (!list.empty()) list += ", ";
  list += "..." + shape.positional.back().name + ": " + in_parentheses(shape.rest) + "[]";
  if (all_optional(shape.named)) forms.push_back(head + list + "): " + shape.result);
  if (shape.named.empty() && !shape.shared) return;
  const std::string options = shape.named.empty() ? "LastIn<K>" : options_type(shape.named, shape.shared);
  forms.push_back(head + "...args: [" + list + ", options: " + options + "]): " + shape.result);
}

Parameter parameter_of(const Argument& argument) {
  return {argument_js_name(argument.name), ts_argument(argument.type), argument.default_value.has_value(),
          schema_type(argument.type)};
}

std::string ts_element(const Type& type) { return type.base == Base::Int ? "Int" : type_row(type.base).ts_argument; }

bool is_open_int_list(const Type& type) { return type.base == Base::Int && type.list && type.size == 0; }

}  // namespace

CallShape call_shape(const Declaration& declaration, int self) {
  CallShape shape;
  const Argument* last = nullptr;
  for (size_t i = 0; i < declaration.arguments.size(); ++i) {
    const Argument& argument = declaration.arguments[i];
    if (argument.out || static_cast<int>(i) == self) continue;
    (argument.kwarg_only ? shape.named : shape.positional).push_back(parameter_of(argument));
    if (!argument.kwarg_only) last = &argument;
    if (argument.variadic) shape.rest = ts_element(argument.type);
  }
  shape.spread = shape.positional.size() == 1 && is_open_int_list(last->type);
  if (is_factory(declaration)) shape.named.push_back({"requiresGrad", "boolean", true});
  const auto outs = arguments_of(declaration, true);
  if (!outs.empty()) shape.named.push_back({"out", out_type(outs), false});
  shape.result = plain_result(declaration);
  return shape;
}

bool is_out_variant_of(const Declaration& out_variant, const Declaration& functional) {
  const auto left = arguments_of(out_variant, false);
  const auto right = arguments_of(functional, false);
  const auto same = [](const Argument* a, const Argument* b) {
    const bool same_default = a->default_value.has_value() == b->default_value.has_value() &&
                              (!a->default_value || default_json(*a->default_value) == default_json(*b->default_value));
    return a->name == b->name && schema_type(a->type) == schema_type(b->type) && a->kwarg_only == b->kwarg_only &&
           same_default;
  };
  return !arguments_of(out_variant, true).empty() && arguments_of(functional, true).empty() &&
         plain_result(out_variant) == plain_result(functional) &&
         std::equal(left.begin(), left.end(), right.begin(), right.end(), same);
}

namespace {

// "TensorOf<D, S>" as "TensorOf<OutOr<TOut, D>, S>": the tensor passed as `out` keeps its dtype and takes the
// result's shape.
std::string with_out(const std::string& result) {
  const std::string tensor = "TensorOf<";
  if (result == "Tensor") return tensor + "OutOr<TOut, DType>>";
  if (result.rfind(tensor, 0) != 0) throw Error("types.yaml", 0, "'" + result + "' of an op with out", "a TensorOf<…>");
  int depth = 0;
  size_t end = tensor.size();
  for (; depth > 0 || (result[end] != ',' && result[end] != '>'); ++end) {
    if (result[end] == '<' || result[end] == '[') ++depth;
    if (result[end] == '>' || result[end] == ']') --depth;
  }
  return tensor + "OutOr<TOut, " + result.substr(tensor.size(), end - tensor.size()) + ">" + result.substr(end);
}

}  // namespace

void add_optional_out(CallShape& shape, const Declaration& out_variant) {
  const auto outs = arguments_of(out_variant, true);
  if (outs.size() > 1 || shape.type_parameters.empty()) {
    shape.named.push_back({"out", out_type(outs), true});
    return;
  }
  shape.type_parameters.push_back({"TOut", "Tensor", "never", false});
  shape.named.push_back({"out", "TOut", true});
  shape.result = with_out(shape.result);
}

std::vector<std::string> call_forms(const CallShape& shape, Mixtures mixtures) {
  std::vector<std::string> forms{
      form(shape, shape.positional, with_elsewhere(shape.named, shape), all_optional(shape.named))};
  if (shape.spread) append_spread_forms(shape, forms);
  if (!shape.rest.empty()) append_rest_forms(shape, forms);
  const auto required = static_cast<size_t>(
      std::count_if(shape.positional.begin(), shape.positional.end(), [](const Parameter& p) { return !p.optional; }));
  for (size_t given = shape.positional.size(); given-- > 0;) {
    if (mixtures == Mixtures::Few && given > 1 && given != required) continue;
    const auto split = shape.positional.begin() + static_cast<std::ptrdiff_t>(given);
    std::vector<Parameter> options(split, shape.positional.end());
    options.insert(options.end(), shape.named.begin(), shape.named.end());
    options = with_elsewhere(options, shape);
    forms.push_back(form(shape, {shape.positional.begin(), split}, options, false));
  }
  return forms;
}

namespace {
size_t required_positional(const CallShape& shape) {
  return static_cast<size_t>(
      std::count_if(shape.positional.begin(), shape.positional.end(), [](const Parameter& p) { return !p.optional; }));
}

bool is_tensor(const Parameter& parameter) { return parameter.schema_type.compare(0, 6, "Tensor") == 0; }

// The arguments from `given` on, by name.
std::vector<Parameter> options_from(const CallShape& shape, size_t given) {
  std::vector<Parameter> options(shape.positional.begin() + static_cast<std::ptrdiff_t>(given), shape.positional.end());
  options.insert(options.end(), shape.named.begin(), shape.named.end());
  return options;
}

// The form whose last parameter is the one at `at`, or the options from there on.
std::string explaining_form(CallShape shape, size_t at) {
  std::vector<Parameter> positional(shape.positional.begin(),
                                    shape.positional.begin() + static_cast<std::ptrdiff_t>(at));
  const std::vector<Parameter> options = options_from(shape, at);
  const Parameter* const last = at < shape.positional.size() ? &shape.positional[at] : nullptr;
  // A tensor has so many properties that an option's name could be one of them, so a union of an optional tensor and
  // options would not give a useful error.
  if (last == nullptr || (is_tensor(*last) && last->optional)) return form(shape, positional, options, false);
  for (Parameter& before : positional) before.optional = false;
  Parameter either = *last;
  either.optional = false;
  if (!is_tensor(*last)) {
    std::string named = options_type(options, shape.shared);
    // A type parameter inferred from the positional argument cannot also be inferred from the named one.
    for (const TypeParameter& parameter : std::vector<TypeParameter>(shape.type_parameters)) {
      if (!with_word(last->type.substr(0, last->type.find(' ')), parameter.name, "").empty()) continue;
      TypeParameter other = parameter;
      other.name += "Named";
      if (other.fallback.empty()) other.fallback = other.constraint;
      named = with_word(named, parameter.name, other.name);
      shape.type_parameters.push_back(other);
    }
    either.type = "(" + either.type + ") | " + named;
    // A list that is passed as one number.
    if (at == 0 && !shape.spread_check.empty()) {
      either.type = "(TFirst & " + with_word(shape.spread_check, shape.spread_parameter, "readonly [TFirst]") + ") | " +
                    either.type;
      shape.type_parameters.push_back({"TFirst", "Int", "", true});
    }
  }
  positional.push_back(either);
  return form(shape, positional, {}, true, true);
}

}  // namespace

size_t forms_taking(const CallShape& shape, size_t count) {
  const size_t most = shape.positional.size() + (shape.named.empty() ? 0 : 1);
  const size_t least = required_positional(shape) + (shape.named.empty() || all_optional(shape.named) ? 0 : 1);
  size_t forms = count >= least && count <= most ? 1 : 0;
  if (count >= 1 && count <= shape.positional.size()) ++forms;  // the first is positional, the others are named
  if (shape.spread || !shape.rest.empty()) ++forms;
  return forms;
}

std::vector<std::string> explaining_forms(const CallShape& shape, const std::vector<CallShape>& others,
                                          const std::function<size_t(size_t)>& before) {
  // Where this overload has only options, another may have an argument that can also be named, such as keepdim of max.
  const auto at_best = [&](size_t at) -> const CallShape& {
    const bool out_alone =
        std::all_of(shape.named.begin(), shape.named.end(), [](const Parameter& p) { return p.name == "out"; });
    if (at < shape.positional.size() || !out_alone) return shape;
    for (const CallShape& other : others) {
      if (at < other.positional.size() && required_positional(other) <= at + 1 && !is_tensor(other.positional[at]))
        return other;
    }
    return shape;
  };
  std::vector<std::string> forms;
  const size_t required = required_positional(shape);
  for (size_t at = required == 0 ? 0 : required - 1; at <= shape.positional.size(); ++at) {
    if (options_from(shape, at).empty()) continue;
    const size_t already = before(at + 1);
    if (already <= 1) continue;  // the compiler already reports the error for this form
    std::string nothing;
    for (size_t i = 0; i <= at; ++i) nothing += (i == 0 ? "_" : ", _") + std::to_string(i) + ": never";
    for (size_t count = already + 1; count > 1 && count < 4; ++count) forms.push_back("(" + nothing + "): never");
    forms.push_back(explaining_form(at_best(at), at));
  }
  return forms;
}

std::string raw_function_type(const Declaration& declaration) {
  std::vector<Parameter> positional;
  std::vector<Parameter> named;
  for (const Argument& argument : declaration.arguments) {
    const bool has_default = argument.default_value.has_value();
    // A parameter's name is only displayed, so it may change; an option's name must be the schema's.
    const std::string name = argument.kwarg_only || !is_reserved(argument.name) ? argument.name : argument.name + "_";
    (argument.kwarg_only ? named : positional).push_back({name, ts_argument(argument.type), has_default});
  }
  CallShape shape;
  shape.result = plain_result(declaration);
  const std::string text = form(shape, positional, named, all_optional(named));
  const size_t colon = text.rfind("): ", text.size() - plain_result(declaration).size());
  return text.substr(0, colon + 1) + " => " + text.substr(colon + 3);
}

}  // namespace codegen
