#include <map>

#include "codegen/bindings/emit/emit.h"
#include "codegen/bindings/emit/fast_path.h"
#include "codegen/bindings/emit/js_templates.h"
#include "codegen/bindings/text/js_text.h"
#include "codegen/bindings/text/names.h"
#include "codegen/common/template.h"
#include "codegen/model/type_table.h"

namespace codegen {
namespace {

std::string op_list(const Plan& plan, const Group& group) {
  std::string text;
  for (const int index : group.ops) {
    const PlannedOp& op = plan.ops[static_cast<size_t>(index)];
    if (!op.shadowed) text += (text.empty() ? "" : ", ") + std::to_string(op.number);
  }
  return "[" + text + "]";
}

// What lib/call/ knows of each base type, by its letter.
std::string kinds_text(const Plan& plan) {
  const auto kind = [](char letter, const Fit& fit) {
    return fill(js::kKind, {{"letter", std::string(1, letter)},
                            {"expected", js_string(fit.expected)},
                            {"plain", std::to_string(static_cast<int>(fit.plain))}});
  };
  std::string text;
  for (const TypeRow& row : type_table()) text += kind(row.code, fit_of(row.base));
  text += kind(kNumberTensor.code, kNumberTensorFit);
  return fill(js::kKinds, {{"kinds", text}, {"rows", std::to_string(plan.row_count)}});
}

// The signatures of all rows of the op table, as strings that are decoded on first use.
std::string table_text(const Plan& plan) {
  std::vector<std::string> rows(static_cast<size_t>(plan.row_count));
  const auto row = [](const Declaration& declaration, const std::string& name, bool number_tensors) {
    return fill(js::kTableRow, {{"name", js_string(name)},
                                {"schema", js_string(declaration.schema)},
                                {"code", js_string(signature_code(declaration, number_tensors))}});
  };
  for (const PlannedOp& op : plan.ops) {
    if (op.number < 0) continue;
    rows[static_cast<size_t>(op.number)] = row(*op.declaration, op.declaration->full_name(), op.number_tensors);
  }
  for (const PlannedClass& planned : plan.classes) {
    for (size_t i = 0; i < planned.numbers.size(); ++i) {
      const Declaration& declaration = planned.spec->functions[i].declaration;
      rows[static_cast<size_t>(planned.numbers[i])] =
          row(declaration, planned.spec->name + "." + declaration.name, false);
    }
  }
  std::string text;
  for (const std::string& line : rows) text += line;
  return fill(js::kTable, {{"rows", text},
                           {"version", js_string(plan.model->libtorch_version)},
                           {"count", std::to_string(plan.ops.size())}});
}

// The call of the parser, where no fast path took the call. `site` is the index of the call site in the array `s`.
std::string parser_call(const Plan& plan, const Group& group, const std::string& space, size_t site, bool may_be_read) {
  const bool method = space == "Tensor";
  const std::string name = js_string(group.js_name);
  const std::string passed = may_be_read ? "r ?? arguments" : "arguments";
  if (plan.public_function(space, group.js_name) != nullptr) {
    return fill(js::kCallPublic, {{"site", std::to_string(site)},
                                  {"space", js_string(space)},
                                  {"name", name},
                                  {"ops", op_list(plan, group)},
                                  {"passed", passed},
                                  {"self", method ? ", this" : ""}});
  }
  return fill(method ? js::kCallMethod : js::kCallFunction,
              {{"site", std::to_string(site)}, {"name", name}, {"ops", op_list(plan, group)}, {"passed", passed}});
}

std::string parameters_of(const FastPath& fast) {
  std::string parameters;
  for (size_t i = 0; i < fast.parameters; ++i) parameters += (i == 0 ? "a" : ", a") + std::to_string(i);
  return parameters;
}

std::string locals_of(const FastPath& fast) {
  return fast.locals.empty() ? "" : fill(js::kLocals, {{"locals", fast.locals}});
}

std::string cases_of(const FastPath& fast, const char* only) {
  return fast.cases.empty() ? "" : fill(js::kCases, {{"only", only}, {"cases", fast.cases}});
}

// `space` of a method is "Tensor".
std::string wrapper(const Plan& plan, const Group& group, const std::string& space, size_t site) {
  const bool method = space == "Tensor";
  const FastPath fast = fast_path(plan, group, method, !is_hidden(space));
  return fill(js::kWrapper, {{"name", js_string(group.js_name)},
                             {"identifier", is_reserved(group.js_name) ? group.js_name + "_" : group.js_name},
                             {"parameters", parameters_of(fast)},
                             {"locals", locals_of(fast)},
                             {"cases", cases_of(fast, method ? js::kOnlyTensors : "")},
                             {"call", parser_call(plan, group, space, site, fast.reads)}});
}

std::string space_text(const std::string& name, const std::string& members) {
  return fill(js::kSpace, {{"name", js_string(name)}, {"members", members}});
}

std::string functions_text(const Plan& plan) {
  std::string spaces;
  size_t site = 0;
  for (const auto& [space, groups] : plan.functions) {
    std::string wrappers;
    for (const Group& group : groups) wrappers += wrapper(plan, group, space, site++);
    spaces += space_text(space, wrappers);
  }
  return fill(js::kFunctions, {{"spaces", spaces}});
}

std::string methods_text(const Plan& plan) {
  std::string wrappers;
  size_t site = 0;
  for (const Group& group : plan.methods) wrappers += wrapper(plan, group, "Tensor", site++);
  return fill(js::kMethods, {{"wrappers", wrappers}});
}

// The signatures of hand-written functions, by namespace and name.
std::string public_text(const Plan& plan) {
  std::string spaces;
  for (const auto& [space, functions] : plan.publics) {
    std::string members;
    for (const auto& [name, function] : functions) {
      std::string signatures;
      for (const Declaration& declaration : function->signatures) {
        signatures += fill(js::kPublicSignature, {{"name", js_string(declaration.name)},
                                                  {"schema", js_string(declaration.schema)},
                                                  {"code", js_string(signature_code(declaration, false))}});
      }
      members += fill(js::kPublicFunction, {{"name", js_string(name)}, {"signatures", signatures}});
    }
    spaces += space_text(space, members);
  }
  return fill(js::kPublic, {{"spaces", spaces}});
}

std::string raw_text(const Plan& plan) {
  std::map<std::string, std::string> by_name;
  for (const PlannedOp& op : plan.ops) {
    if (op.number < 0) continue;
    const std::string overload = op.declaration->overload.empty() ? "default" : op.declaration->overload;
    std::string& entry = by_name[op.declaration->name];
    entry += (entry.empty() ? "" : ", ") + js_string(overload) + ": " + std::to_string(op.number);
  }
  std::string ops;
  for (const auto& [name, overloads] : by_name) {
    ops += fill(js::kRawOp, {{"name", js_string(name)}, {"overloads", overloads}});
  }
  return fill(js::kRaw, {{"ops", ops}, {"rows", std::to_string(plan.row_count)}});
}

std::string raw_calls_text(const Plan& plan) {
  std::string functions;
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    const PlannedOp& op = plan.ops[i];
    if (op.number < 0) continue;
    const FastPath fast = fast_path(plan, {op.js_name, {static_cast<int>(i)}}, false, false);
    functions += fill(js::kRawCall, {{"row", std::to_string(op.number)},
                                     {"parameters", parameters_of(fast)},
                                     {"locals", locals_of(fast)},
                                     {"cases", cases_of(fast, "")}});
  }
  return fill(js::kRawCalls, {{"functions", functions}});
}

std::string member_text(const ClassSpec& spec, const ClassFunction& function, const std::string& number) {
  if (function.declaration.name == "new") {
    return fill(js::kConstructor, {{"class", js_string(spec.name)}, {"number", number}});
  }
  const char* const text = function.property ? js::kProperty : function.chains ? js::kChainedMethod : js::kMethod;
  return fill(text, {{"name", camel_case(function.declaration.name)}, {"number", number}});
}

std::string classes_text(const Plan& plan) {
  std::string classes;
  for (const PlannedClass& planned : plan.classes) {
    const ClassSpec& spec = *planned.spec;
    std::string members;
    for (size_t i = 0; i < planned.numbers.size(); ++i) {
      members += member_text(spec, spec.functions[i], std::to_string(planned.numbers[i]));
    }
    classes += fill(js::kClass, {{"name", spec.name}, {"members", members}});
  }
  return fill(js::kClasses, {{"classes", classes}});
}

std::string names_text(const Plan& plan) {
  std::string names;
  const auto groups = plan.functions.find("");
  if (groups != plan.functions.end()) {
    for (const Group& group : groups->second) names += fill(js::kName, {{"name", js_string(group.js_name)}});
  }
  return fill(js::kNames, {{"names", names}});
}

}  // namespace

Files emit_js(const Plan& plan) {
  Files files;
  files["lib/generated/kinds.d.ts"] = fill(js::kKindsTypes, {});
  files["lib/generated/kinds.js"] = kinds_text(plan);
  files["lib/generated/table.d.ts"] = fill(js::kTableTypes, {});
  files["lib/generated/table.js"] = table_text(plan);
  files["lib/generated/functions.d.ts"] = fill(js::kFunctionsTypes, {});
  files["lib/generated/functions.js"] = functions_text(plan);
  files["lib/generated/methods.d.ts"] = fill(js::kMethodsTypes, {});
  files["lib/generated/methods.js"] = methods_text(plan);
  files["lib/generated/public.d.ts"] = fill(js::kPublicTypes, {});
  files["lib/generated/public.js"] = public_text(plan);
  files["lib/generated/raw.d.ts"] = fill(js::kRawTypes, {});
  files["lib/generated/raw.js"] = raw_text(plan);
  files["lib/generated/raw_calls.d.ts"] = fill(js::kRawCallsTypes, {});
  files["lib/generated/raw_calls.js"] = raw_calls_text(plan);
  files["lib/generated/classes.d.ts"] = fill(js::kClassesTypes, {});
  files["lib/generated/classes.js"] = classes_text(plan);
  files["lib/generated/names.d.ts"] = fill(js::kNamesTypes, {});
  files["lib/generated/names.js"] = names_text(plan);
  return files;
}

}  // namespace codegen
