#include "codegen/bindings/plan/plan.h"

#include <algorithm>
#include <set>

#include "codegen/bindings/spec/guards.h"
#include "codegen/bindings/text/names.h"
#include "codegen/common/diagnostics.h"
#include "codegen/model/type_table.h"

namespace codegen {
namespace {

// In the groups of `number_tensors`, a number matches a tensor before it matches a Scalar.
void shadow_scalar_twins(Plan& plan, const std::vector<Group>& groups) {
  for (const Group& group : groups) {
    for (const int op : group.ops) {
      PlannedOp& scalar = plan.ops[static_cast<size_t>(op)];
      if (!scalar.number_tensors) continue;
      scalar.shadowed = scalar.shadowed || std::any_of(group.ops.begin(), group.ops.end(), [&](int other) {
                          return is_scalar_twin(*scalar.declaration, *plan.ops[static_cast<size_t>(other)].declaration);
                        });
    }
  }
}

int self_of(const Declaration& declaration) {
  for (size_t i = 0; i < declaration.arguments.size(); ++i) {
    const Argument& argument = declaration.arguments[i];
    if (argument.name == "self" && argument.type.base == Base::Tensor && !argument.type.list &&
        !argument.type.nullable) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

std::vector<Group> sorted_groups(const Plan& plan, const std::map<std::string, std::vector<int>>& by_name) {
  std::vector<Group> groups;
  for (const auto& [name, ops] : by_name) groups.push_back({name, sort_overloads(plan, ops)});
  return groups;
}

// Decides the namespace of an op's function and whether the op is a method; public.yaml overrides its module.
void settle_place(PlannedOp& op, const Plan& plan, const Spec& spec) {
  const auto closed = spec.closed.find(op.space);
  if (closed != spec.closed.end() && !closed->second.open && closed->second.ops.count(op.declaration->name) == 0) {
    const std::string space = op.space;
    op.space = hidden_space(space);
    for (const auto& [name, aten] : closed->second.aliases) {
      if (aten != op.declaration->name) continue;
      op.space = space;
      op.space_name = camel_case(name);
    }
  } else if (closed == spec.closed.end() && !op.space.empty() && op.space_name[0] == '_') {
    op.space = hidden_space(op.space);  // torch.linalg and similar namespaces do not show private ops of their modules
  }
  const PublicFunction* function = plan.public_function(op.space, op.space_name);
  if (function != nullptr && !function->extends) op.space = hidden_space(op.space);
  const PublicFunction* method = plan.public_function("Tensor", op.js_name);
  if (method != nullptr && !method->extends) op.self = -1;
  for (const PublicFunction* replaces : {function, method}) {
    if (replaces != nullptr && !replaces->extends) op.reason = "the public function is written in " + replaces->file;
  }
}

// PyTorch's other names of ops, such as torch.nn.functional.conv1d for torch.conv1d.
void add_aliases(const Plan& plan, const Spec& spec,
                 std::map<std::string, std::map<std::string, std::vector<int>>>& functions) {
  for (const auto& [space, closed] : spec.closed) {
    for (const auto& [name, aten] : closed.aliases) {
      std::vector<int>& group = functions[space][camel_case(name)];
      if (!group.empty()) continue;  // an op of that namespace, see settle_place
      for (size_t i = 0; i < plan.ops.size(); ++i) {
        const PlannedOp& op = plan.ops[i];
        if (op.declaration->name == aten && op.declaration->is_function && op.number >= 0) {
          group.push_back(static_cast<int>(i));
        }
      }
      if (group.empty()) functions[space].erase(camel_case(name));  // this libtorch lacks the op
    }
  }
}

// The hand-written public functions, by namespace and name, of this libtorch.
void add_publics(Plan& plan, const Model& model, const Spec& spec) {
  const auto has_op = [&model](const std::string& name) {
    return std::any_of(model.declarations.begin(), model.declarations.end(),
                       [&](const Declaration& declaration) { return declaration.name == name; });
  };
  for (const PublicFunction& function : spec.publics) {
    if (!function.needs.empty() && !has_op(function.needs)) continue;
    for (const std::string& space : function.spaces) {
      if (plan.publics[space].emplace(function.js_name, &function).second) continue;
      throw Error("public.yaml", function.line, "duplicate entry '" + function.name + "'", "one entry per name");
    }
  }
}

// The op with its names and what the specs say of it, without its number.
PlannedOp plan_op(const Declaration& declaration, const Plan& plan, const Spec& spec) {
  PlannedOp op;
  op.declaration = &declaration;
  op.self = self_of(declaration);
  op.js_name = camel_case(declaration.name);
  op.shadowed = spec.not_chosen.count(declaration.full_name()) != 0;
  op.number_tensors = spec.number_tensors.count(declaration.name) != 0;
  const Place place = place_of(declaration.name, declaration.python_module);
  op.space = place.space;
  op.space_name = place.name;
  settle_place(op, plan, spec);
  const auto skipped = spec.skipped.find(declaration.full_name());
  if (skipped != spec.skipped.end()) {
    op.skipped = true;
    op.reason = skipped->second.reason;
  }
  const auto no_method = spec.no_method.find(op.js_name);
  if (op.self >= 0 && no_method != spec.no_method.end()) {
    op.self = -1;
    op.reason = no_method->second;
  }
  return op;
}

// The indices of ops by the names under which JavaScript finds them.
struct Names {
  std::map<std::string, std::map<std::string, std::vector<int>>> functions;  // by namespace
  std::map<std::string, std::vector<int>> methods;
};

// Numbers the op and adds it.
void add_op(Plan& plan, PlannedOp op, const std::set<std::string>& reserved, Names& names) {
  const int index = static_cast<int>(plan.ops.size());
  if (!op.skipped) {
    op.number = plan.row_count++;
    if (op.declaration->is_function) names.functions[op.space][op.space_name].push_back(index);
    if (op.self >= 0) {
      if (reserved.count(op.js_name) != 0) {
        throw Error("Declarations.yaml", op.declaration->line,
                    "the method '" + op.js_name + "' would be shadowed by a hand-written member of Tensor",
                    "another name for that member (tensor_members in exceptions.yaml)");
      }
      names.methods[op.js_name].push_back(index);
    }
  }
  plan.ops.push_back(std::move(op));
}

// Two ops of libtorch must not have one name in JavaScript.
void check_names(const Plan& plan) {
  std::map<std::string, std::string> aten_name_of;
  for (const PlannedOp& op : plan.ops) {
    const auto [known, is_new] = aten_name_of.emplace(op.js_name, op.declaration->name);
    if (!is_new && known->second != op.declaration->name) {
      throw Error(
          "Declarations.yaml", op.declaration->line,
          "'" + op.declaration->name + "' and '" + known->second + "' are both '" + op.js_name + "' in JavaScript",
          "distinct names");
    }
  }
}

void check_skipped(const Plan& plan, const Spec& spec) {
  std::set<std::string> unused;
  for (const auto& [name, skipped] : spec.skipped) unused.insert(name);
  for (const PlannedOp& op : plan.ops) unused.erase(op.declaration->full_name());
  if (unused.empty()) return;
  throw Error("exceptions.yaml", spec.skipped.at(*unused.begin()).line, "'" + *unused.begin() + "' is not declared",
              "an op of this libtorch");
}

}  // namespace

const PublicFunction* Plan::public_function(const std::string& space, const std::string& js_name) const {
  const auto names = publics.find(space);
  if (names == publics.end()) return nullptr;
  const auto found = names->second.find(js_name);
  return found == names->second.end() ? nullptr : found->second;
}

Plan make_plan(const Model& model, const Spec& spec) {
  Plan plan;
  plan.model = &model;
  plan.spec = &spec;
  add_publics(plan, model, spec);
  const std::set<std::string> reserved(spec.reserved_members.begin(), spec.reserved_members.end());
  Names names;
  for (const Declaration& declaration : model.declarations) {
    add_op(plan, plan_op(declaration, plan, spec), reserved, names);
  }
  check_names(plan);
  check_skipped(plan, spec);
  check_guards(spec, model);
  add_aliases(plan, spec, names.functions);
  for (const auto& [space, by_name] : names.functions) plan.functions[space] = sorted_groups(plan, by_name);
  plan.methods = sorted_groups(plan, names.methods);
  for (const auto& [space, groups] : plan.functions) shadow_scalar_twins(plan, groups);
  shadow_scalar_twins(plan, plan.methods);
  for (const ClassSpec& spec_class : spec.classes) {
    PlannedClass planned;
    planned.spec = &spec_class;
    for (size_t i = 0; i < spec_class.functions.size(); ++i) planned.numbers.push_back(plan.row_count++);
    plan.classes.push_back(std::move(planned));
  }
  return plan;
}

}  // namespace codegen
