// The order in which the overloads of a name are tried. (Idea: sort_overloads of PyTorch's gen_python_functions.py.)
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "codegen/bindings/plan/plan.h"
#include "codegen/bindings/text/js_text.h"
#include "codegen/model/type_table.h"

namespace codegen {
namespace {

std::vector<const Argument*> inputs_of(const Declaration& declaration) {
  std::vector<const Argument*> inputs;
  for (const Argument& argument : declaration.arguments) {
    if (!argument.out) inputs.push_back(&argument);
  }
  return inputs;
}

// Whether an overload with type `a` is tried after one with type `b` at the same position.
bool yields_to(const Type& a, const Type& b) {
  const std::string left = schema_type(a);
  const std::string right = schema_type(b);
  if (left == "Scalar" && right == "Tensor") return true;
  if (left == "Scalar?" && right == "Tensor?") return true;
  if (a.base == Base::Dimname && b.base != Base::Dimname) return true;
  if (left == "Storage" && right == "Tensor") return true;  // a storage is a Tensor in JavaScript
  if (left == "int[]" && (right == "int" || right == "int?")) return true;
  return left == "Tensor[]" && b.list;
}

bool is_smaller(const Declaration& a, const Declaration& b) {
  const auto left = inputs_of(a);
  const auto right = inputs_of(b);
  if (left.size() != right.size()) return false;
  bool equal = true;
  for (size_t i = 0; i < left.size(); ++i) {
    if (schema_type(left[i]->type) == schema_type(right[i]->type)) continue;
    equal = false;
    if (!yields_to(left[i]->type, right[i]->type)) return false;
  }
  return !equal;
}

bool has_out(const Declaration& declaration) {
  return std::any_of(declaration.arguments.begin(), declaration.arguments.end(),
                     [](const Argument& argument) { return argument.out; });
}

// A type in the spelling of PyTorch's Python parser.
std::string parser_type(const Type& type) {
  static const std::map<Base, std::pair<std::string, std::string>> names = {
      {Base::Int, {"int64_t", "IntArrayRef"}},      {Base::Float, {"double", "ArrayRef<double>"}},
      {Base::Str, {"c10::string_view", "StrList"}}, {Base::Tensor, {"Tensor", "TensorList"}},
      {Base::Dimname, {"Dimname", "DimnameList"}},  {Base::Scalar, {"Scalar", "ScalarList"}},
      {Base::Bool, {"bool", "::std::array<bool"}},
  };
  const auto found = names.find(type.base);
  std::string text = found == names.end() ? type_row(type.base).schema_name
                     : type.list          ? found->second.second
                                          : found->second.first;
  if (type.list && type.size > 0) text += "[" + std::to_string(type.size) + "]";
  return type.nullable ? text + "?" : text;
}

// "(Tensor input, IntArrayRef[1] dim, bool keepdim=False, *, ScalarType? dtype=None": PyTorch's sort key.
std::string parser_signature(const Declaration& declaration) {
  std::string text = "(";
  bool keyword_only = false;
  for (const Argument* argument : inputs_of(declaration)) {
    if (text.size() > 1) text += ", ";
    if (argument->kwarg_only && !keyword_only) text += "*, ";
    keyword_only = argument->kwarg_only;
    text += parser_type(argument->type) + " " + (argument->name == "self" ? "input" : argument->name);
    if (argument->default_value) text += "=" + default_json(*argument->default_value);
  }
  return text;
}

}  // namespace

bool is_scalar_twin(const Declaration& scalar, const Declaration& tensor) {
  const auto left = inputs_of(scalar);
  const auto right = inputs_of(tensor);
  if (left.size() != right.size() || scalar.arguments.size() != tensor.arguments.size()) return false;
  bool twin = false;
  for (size_t i = 0; i < left.size(); ++i) {
    const std::string a = schema_type(left[i]->type);
    const std::string b = schema_type(right[i]->type);
    if (left[i]->kwarg_only != right[i]->kwarg_only) return false;
    if (a == b) continue;
    if (a != "Scalar" || b != "Tensor") return false;
    twin = true;
  }
  return twin;
}

std::vector<int> sort_overloads(const Plan& plan, std::vector<int> ops) {
  const auto declaration = [&](int op) -> const Declaration& { return *plan.ops[op].declaration; };
  // Like PyTorch, sort first by the signatures' text in its Python parser's spelling. Out-variants come last.
  const auto key = [&](int op) {
    const Declaration& d = declaration(op);
    return std::make_tuple(has_out(d), parser_signature(d), d.schema);
  };
  std::sort(ops.begin(), ops.end(), [&](int a, int b) { return key(a) < key(b); });
  const size_t count = ops.size();
  std::map<size_t, std::set<size_t>> larger_than;
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      if (is_smaller(declaration(ops[i]), declaration(ops[j]))) larger_than[i].insert(j);
    }
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < count; ++i) {
    if (larger_than.count(i) == 0) order.push_back(i);
  }
  for (size_t k = 0; k < order.size(); ++k) {
    for (auto it = larger_than.begin(); it != larger_than.end();) {
      it->second.erase(order[k]);
      if (it->second.empty()) {
        order.push_back(it->first);
        it = larger_than.erase(it);
      } else {
        ++it;
      }
    }
  }
  std::vector<int> sorted;
  for (const size_t i : order) sorted.push_back(ops[i]);
  return sorted;
}

}  // namespace codegen
