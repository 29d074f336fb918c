#include "codegen/bindings/dts/members.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "codegen/bindings/dts/doc.h"
#include "codegen/bindings/emit/emit.h"
#include "codegen/bindings/spec/type_rules.h"
#include "codegen/bindings/text/names.h"

namespace codegen {
namespace {

// PyTorch's name: "torch.linalg.norm".
std::string torch_name(const PlannedOp& op, bool method) {
  const std::string& name = op.declaration->name;
  if (method) return "torch.Tensor." + name;
  if (op.space.empty()) return "torch." + name;
  const std::string prefix = op.space + "_";
  return "torch." + op.space + "." + (name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name);
}

std::vector<std::string> forms_of(const CallShape& shape, Mixtures mixtures, bool method) {
  return call_forms(method ? shape : shared(shape), mixtures);
}

struct Overload {
  const PlannedOp* op = nullptr;
  CallShape shape;
  bool number_first = false;  // the overload before it, with a number as its first tensor
};

// The overloads in the order in which they are tried; out-variants are merged into the signature that they extend.
std::vector<Overload> overloads_of(const Plan& plan, const Group& group, ResultStyle style, bool ruled) {
  std::vector<Overload> overloads;
  std::vector<const PlannedOp*> ops;
  for (const int index : group.ops) ops.push_back(&plan.ops[static_cast<size_t>(index)]);
  std::map<const PlannedOp*, const PlannedOp*> out_of;  // functional -> its out-variant
  std::map<const PlannedOp*, bool> joined;
  for (const PlannedOp* op : ops) {
    const auto functional = std::find_if(ops.begin(), ops.end(), [&](const PlannedOp* other) {
      return out_of.count(other) == 0 && is_out_variant_of(*op->declaration, *other->declaration);
    });
    if (functional == ops.end()) continue;
    out_of[*functional] = op;
    joined[op] = true;
  }
  for (const PlannedOp* op : ops) {
    if (joined[op]) continue;
    const int self = style == ResultStyle::Method ? op->self : -1;
    Overload overload{op, call_shape(*op->declaration, self)};
    const TypeRule* const rule = ruled ? rule_of(*plan.spec, *op->declaration) : nullptr;
    apply_rule(overload.shape, rule, *op->declaration, self, style);
    overloads.push_back(std::move(overload));
    const auto out = out_of.find(op);
    if (out != out_of.end()) add_optional_out(overloads.back().shape, *out->second->declaration);
    if (ruled) name_strings(overloads.back().shape, *plan.spec, *op->declaration);
    if (ruled) accept_device_strings(overloads.back().shape);
    const bool function = style == ResultStyle::Function && ruled;
    const auto changed = function ? with_number_first(*plan.spec, *op->declaration) : std::nullopt;
    if (!changed) continue;
    overloads.push_back({op, call_shape(*changed, self), true});
    CallShape& shape = overloads.back().shape;
    apply_rule(shape, rule_of(*plan.spec, *changed), *changed, self, style);
    if (out != out_of.end()) add_optional_out(shape, *out->second->declaration);
    name_strings(shape, *plan.spec, *changed);
  }
  return overloads;
}

std::set<std::string> names_of(const CallShape& shape) {
  std::set<std::string> names;
  for (const Parameter& parameter : shape.positional) names.insert(parameter.name);
  for (const Parameter& parameter : shape.named) names.insert(parameter.name);
  return names;
}

void add_elsewhere(std::vector<Overload>& overloads) {
  std::set<std::string> all;
  for (const Overload& overload : overloads) all.merge(names_of(overload.shape));
  all.erase("self");
  for (Overload& overload : overloads) {
    const std::set<std::string> own = names_of(overload.shape);
    std::set_difference(all.begin(), all.end(), own.begin(), own.end(), std::back_inserter(overload.shape.elsewhere));
  }
}

// Ops that are meant for other ops, not for users.
bool is_internal(const std::string& js_name) {
  if (js_name[0] == '_' || js_name.find("Backward") != std::string::npos) return true;
  for (const std::string prefix : {"cudnn", "miopen", "mkldnn", "mkl", "quantized", "fbgemm", "slowConv", "thnn"}) {
    if (js_name.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

// Adds the listed words of other overloads, such as the rounding mode of div: the error for another word names them.
void add_words(CallShape& shape, const std::vector<CallShape>& overloads) {
  for (const CallShape& overload : overloads) {
    for (Parameter parameter : overload.named) {
      for (const TypeParameter& type : overload.type_parameters) {
        if (type.name == parameter.type) parameter.type = type.constraint;
      }
      const bool words = parameter.schema_type.compare(0, 3, "str") == 0 && parameter.type.front() == '\'';
      if (!words || names_of(shape).count(parameter.name) != 0) continue;
      parameter.optional = true;
      shape.elsewhere.erase(std::remove(shape.elsewhere.begin(), shape.elsewhere.end(), parameter.name),
                            shape.elsewhere.end());
      shape.named.push_back(parameter);
    }
  }
}

bool has_type_parameter(const CallShape& shape, const std::string& name) {
  return std::any_of(shape.type_parameters.begin(), shape.type_parameters.end(),
                     [&](const TypeParameter& parameter) { return parameter.name == name; });
}

// The type of a number in the place of the tensor `name`, or "" where no overload takes one. A number that an overload
// checks becomes a type parameter of `shape`, if the check needs no others than `shape` has.
std::string number_for(const std::string& name, const std::vector<CallShape>& overloads, CallShape& shape) {
  std::string unchecked;
  for (const CallShape& overload : overloads) {
    for (const Parameter& parameter : overload.positional) {
      if (parameter.name != name || parameter.schema_type != "Scalar") continue;
      unchecked = "Scalar";
      std::string checked;
      bool fits = true;
      for (const TypeParameter& type : overload.type_parameters) {
        if (parameter.type.rfind(type.name + " & ", 0) == 0) {
          checked = type.name;
        } else if (with_word(parameter.type, type.name, "") != parameter.type) {
          fits = fits && has_type_parameter(shape, type.name);
        }
      }
      if (checked.empty() || !fits) continue;
      const std::string number = checked + "Number";
      shape.type_parameters.push_back({number, "Scalar", "", true});
      return "(" + with_word(parameter.type, checked, number) + ")";
    }
  }
  return unchecked;
}

// When no overload fits, the compiler reports an error for the last one. So the overload that compares shapes, or else
// the first, is repeated at the end. Where another overload takes a number instead of a tensor, this form takes both.
std::string explaining_text(const std::string& js_name, const std::vector<CallShape>& overloads, bool by_hand,
                            bool method) {
  // Of those with the fewest required named arguments, which a wrong call usually lacks, the one with the most checks.
  const auto demanded = [](const CallShape& overload) {
    const auto& named = overload.named;
    return std::count_if(named.begin(), named.end(), [](const Parameter& parameter) { return !parameter.optional; });
  };
  auto checked = overloads.end();
  for (auto overload = overloads.begin(); overload != overloads.end(); ++overload) {
    if (overload->checks == 0 && overload->spread_parameter.empty()) continue;
    const auto rank = [&](const CallShape& one) { return std::make_pair(demanded(one), -one.checks); };
    if (checked == overloads.end() || rank(*overload) < rank(*checked)) checked = overload;
  }
  // Users rarely mean an overload with dimension names.
  const auto named = [](const CallShape& overload) {
    const auto& positional = overload.positional;
    return std::any_of(positional.begin(), positional.end(),
                       [](const Parameter& p) { return p.schema_type.compare(0, 7, "Dimname") == 0; });
  };
  if (checked == overloads.end()) {
    checked = std::find_if(overloads.begin(), overloads.end(), [&](const CallShape& o) { return !named(o); });
    if ((overloads.size() < 2 && !by_hand) || checked == overloads.end()) return "";
  }
  CallShape shape = *checked;
  bool either = false;
  // If one overload takes a number and another a list, for example, the parameter takes either.
  for (TypeParameter& parameter : shape.type_parameters) {
    for (const CallShape& other : overloads) {
      for (const TypeParameter& same : other.type_parameters) {
        const bool differs = parameter.literal && same.literal && same.constraint != parameter.constraint;
        if (same.name != parameter.name || !differs || &other == &*checked) continue;
        if (parameter.constraint.find(same.constraint) != std::string::npos) continue;
        parameter.constraint += " | " + same.constraint;
        either = true;
      }
    }
  }
  for (Parameter& parameter : shape.positional) {
    const std::string number = parameter.schema_type == "Tensor" ? number_for(parameter.name, overloads, shape) : "";
    if (number.empty()) continue;
    parameter.type += " | " + number;
    either = true;
    if (shape.result.compare(0, 5, "TSelf") != 0) shape.result = "Tensor";
  }
  add_words(shape, overloads);
  const auto before = [&](size_t count) {
    size_t forms = 0;
    for (const CallShape& overload : overloads) forms += forms_taking(overload, count);
    return forms;
  };
  std::string text;
  // A form that takes either is also callable.
  if (either) text += "  " + member_name(js_name) + forms_of(shape, Mixtures::Few, method).front() + ";\n";
  std::vector<CallShape> others;
  for (const CallShape& overload : overloads) {
    if (&overload != &*checked && !named(overload)) others.push_back(method ? overload : shared(overload));
  }
  for (const std::string& form : explaining_forms(method ? shape : shared(shape), others, before)) {
    text += "  " + member_name(js_name) + form + ";\n";
  }
  return text;
}

std::string since_of(const Plan& plan, const Declaration& declaration) {
  return plan.history == nullptr ? "" : plan.history->since(declaration, release_of(plan.model->libtorch_version));
}

// The signatures of a hand-written function: more precise ones, then those of the spec.
std::vector<Declaration> declarations_of(const PublicFunction& function) {
  std::vector<Declaration> declarations = function.typed;
  declarations.insert(declarations.end(), function.signatures.begin(), function.signatures.end());
  return declarations;
}

// The call shape of each signature.
std::vector<CallShape> shapes_of(const Plan& plan, const PublicFunction& function, bool method) {
  std::vector<CallShape> shapes;
  for (const Declaration& declaration : declarations_of(function)) {
    const ResultStyle style = method ? ResultStyle::Method : ResultStyle::Function;
    CallShape shape = call_shape(declaration, method ? 0 : -1);
    const bool general = shapes.size() >= function.typed.size();
    // A more precise signature keeps the types that its schema gives.
    const auto as_told = [&](std::vector<Parameter>& parameters) {
      for (Parameter& parameter : parameters) {
        const auto told = function.ts.find(parameter.name);
        const bool applies = general || parameter.schema_type.compare(0, 3, "Any") == 0;
        if (applies && told != function.ts.end()) parameter.type = told->second;
      }
    };
    const bool told = general && function.ts.count("result") != 0;
    if (!told) apply_rule(shape, rule_of(*plan.spec, declaration), declaration, method ? 0 : -1, style);
    as_told(shape.positional);
    as_told(shape.named);
    if (!shape.rest.empty() && function.ts.count("rest") != 0) shape.rest = function.ts.at("rest");
    if (told) shape.result = function.ts.at("result");
    name_strings(shape, *plan.spec, declaration);
    accept_device_strings(shape);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

// The forms of a hand-written function, as members of an interface.
std::string public_text(const Plan& plan, const PublicFunction& function, const std::string& space) {
  const bool method = space == "Tensor";
  const std::string torch = (method          ? "torch.Tensor"
                             : space.empty() ? "torch"
                                             : "torch." + space) +
                            "." + function.name;
  const std::vector<Declaration> declarations = declarations_of(function);
  const std::vector<CallShape> shapes = shapes_of(plan, function, method);
  std::string text;
  for (size_t i = 0; i < declarations.size(); ++i) {
    bool first_form = true;
    for (const std::string& form : forms_of(shapes[i], Mixtures::Most, method)) {
      if (first_form) {
        text += doc_block(text.empty() ? torch : "", declarations[i], method ? 0 : -1, shapes[i],
                          "any libtorch: the package composes it of ops");
      } else {
        text += doc_line("", declarations[i].schema);
      }
      text += "  " + member_name(function.js_name) + form + ";\n";
      first_form = false;
    }
  }
  return text;
}

// Every signature of one name, as members of an interface: those of ops, then those of the hand-written `more`.
std::string group_text(const Plan& plan, const Group& group, const PublicFunction* more, const std::string& space) {
  const bool method = space == "Tensor";
  const ResultStyle style = method ? ResultStyle::Method : ResultStyle::Function;
  std::string text;
  bool first = true;
  const Mixtures mixtures = is_internal(group.js_name) ? Mixtures::Few : Mixtures::Most;
  std::vector<Overload> overloads = overloads_of(plan, group, style, mixtures == Mixtures::Most);
  if (mixtures == Mixtures::Most) add_elsewhere(overloads);
  for (const Overload& overload : overloads) {
    const Declaration& declaration = *overload.op->declaration;
    bool first_form = true;
    for (const std::string& form : forms_of(overload.shape, mixtures, method)) {
      const std::string name = first ? torch_name(*overload.op, method) : "";
      const int self = method ? overload.op->self : -1;
      const std::string since = since_of(plan, declaration);
      const bool whole = first_form && mixtures == Mixtures::Most && !overload.number_first;
      text += whole ? doc_block(name, declaration, self, overload.shape, since) : doc_line(name, declaration.schema);
      text += "  " + member_name(group.js_name) + form + ";\n";
      first = false;
      first_form = false;
    }
  }
  std::vector<CallShape> shapes;
  if (more != nullptr) {
    text += public_text(plan, *more, space);
    shapes = shapes_of(plan, *more, method);
  }
  for (Overload& overload : overloads) {
    if (!overload.number_first) shapes.push_back(std::move(overload.shape));
  }
  return text + (mixtures == Mixtures::Most ? explaining_text(group.js_name, shapes, more != nullptr, method) : "");
}

}  // namespace

std::string members_text(const Plan& plan, const std::vector<Group>& groups, const std::string& space) {
  const bool method = space == "Tensor";
  std::string text;
  std::set<std::string> written;
  for (const Group& group : groups) {
    if (method && plan.spec->own_types.count(group.js_name) != 0) continue;
    const PublicFunction* more = plan.public_function(space, group.js_name);
    text += group_text(plan, group, more, space);
    written.insert(group.js_name);
  }
  const auto publics = plan.publics.find(space);
  if (publics == plan.publics.end()) return text;
  for (const auto& [name, function] : publics->second) {
    if (written.count(name) != 0) continue;
    text += public_text(plan, *function, space);
    text += explaining_text(function->js_name, shapes_of(plan, *function, method), true, method);
  }
  return text;
}

}  // namespace codegen
