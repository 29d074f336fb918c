#include "codegen/bindings/emit/fast_path.h"

#include <algorithm>
#include <map>
#include <optional>

#include "codegen/bindings/emit/fast_options.h"
#include "codegen/bindings/emit/fast_value.h"
#include "codegen/bindings/emit/js_templates.h"
#include "codegen/common/template.h"

namespace codegen {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);
constexpr size_t kMaxParameters = 6;  // longer calls are rare and go through the parser
constexpr size_t kMaxGathered = 4;    // the same for integers in place of a list: `view(2, 3)`

class Builder {
 public:
  // `named`: not the raw form. Integers one by one are accepted for a list, and dtypes by name.
  Builder(const Plan& plan, const Group& group, bool method, bool named)
      : plan_(plan), group_(group), method_(method), named_(named) {}

  // `options`: lines of calls with an options object, by the number of arguments.
  FastPath build(const std::map<size_t, std::string>& options) {
    FastPath result;
    result.reads = !options.empty();
    for (size_t given = 0; given <= kMaxParameters; ++given) {
      const auto more = options.find(given);
      const std::string body = cases_for(given) + (more == options.end() ? "" : more->second);
      if (body.empty()) continue;
      result.cases += fill(js::kCase, {{"count", std::to_string(given)}, {"lines", body}});
      result.parameters = given;
    }
    result.locals = locals_of(result.cases, result.parameters);
    return result;
  }

 private:
  // The locals that the cases assign to, as a declaration.
  static std::string locals_of(const std::string& cases, size_t parameters) {
    std::vector<std::string> names = {"h", "n", "r"};
    for (size_t i = 0; i < parameters + kMaxOptions; ++i) {
      for (const char* letter : {"h", "p", "v", "d"}) names.push_back(letter + std::to_string(i));
    }
    std::string text;
    for (const std::string& name : names) {
      if (cases.find(name + " = ") != std::string::npos) text += (text.empty() ? "let " : ", ") + name;
    }
    return text.empty() ? text : text + ";";
  }

  bool is_self(const PlannedOp& op, size_t index) const { return method_ && static_cast<int>(index) == op.self; }

  // The indices of the arguments that are positional parameters for the caller.
  std::vector<size_t> positional(const PlannedOp& op) const {
    std::vector<size_t> indices;
    const auto& arguments = op.declaration->arguments;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i].kwarg_only && !arguments[i].out && !is_self(op, i)) indices.push_back(i);
    }
    return indices;
  }

  bool accepts_count(const PlannedOp& op, size_t given) const {
    const auto& arguments = op.declaration->arguments;
    const auto indices = positional(op);
    if (given > indices.size()) return false;
    if (std::any_of(arguments.begin(), arguments.end(), [](const Argument& a) { return a.out; })) return false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const auto at = std::find(indices.begin(), indices.begin() + static_cast<long>(given), i);
      const bool is_given = at != indices.begin() + static_cast<long>(given) || is_self(op, i);
      if (!is_given && !arguments[i].default_value) return false;
    }
    return true;
  }

  // Whether so many integers may be the elements of the list that is the only positional parameter: see gatherSizes()
  // in lib/call/parse.ts.
  bool gathers(const PlannedOp& op, size_t given) const {
    if (!named_ || given == 0 || given > kMaxGathered) return false;
    const auto indices = positional(op);
    if (indices.size() != 1 || !accepts_count(op, 1)) return false;
    const Type& type = op.declaration->arguments[indices[0]].type;
    return type.list && type.base == Base::Int && type.size == 0 && !type.element_nullable;
  }

  // Whether an earlier overload without a fast case might accept so many integers.
  bool integers_are_hidden(const std::vector<const PlannedOp*>& slow, size_t given) const {
    Type integer;
    integer.base = Base::Int;
    return std::any_of(slow.begin(), slow.end(), [&](const PlannedOp* other) {
      const auto theirs = positional(*other);
      if (theirs.size() < given) return true;
      return std::all_of(theirs.begin(), theirs.begin() + static_cast<long>(given),
                         [&](size_t i) { return may_overlap(integer, other->declaration->arguments[i].type); });
    });
  }

  // Whether an earlier overload without a fast case might accept the values that fit `op`.
  bool is_hidden(const PlannedOp& op, const std::vector<const PlannedOp*>& slow, size_t given) const {
    const auto mine = positional(op);
    for (const PlannedOp* other : slow) {
      const auto theirs = positional(*other);
      bool apart = false;
      for (size_t i = 0; i < given; ++i) {
        const auto& a = op.declaration->arguments[mine[i]].type;
        const auto& b = other->declaration->arguments[theirs[i]].type;
        apart = apart || !may_overlap(a, b);
      }
      if (!apart) return true;
    }
    return false;
  }

  // Whether another overload takes a list of other elements in the same place, so that an empty list fits both.
  bool has_list_rival(const PlannedOp& op, size_t given) const {
    const auto mine = positional(op);
    for (const int index : group_.ops) {
      const PlannedOp& other = plan_.ops[static_cast<size_t>(index)];
      if (&other == &op || !accepts_count(other, given)) continue;
      const auto theirs = positional(other);
      for (size_t i = 0; i < given; ++i) {
        const Type& a = op.declaration->arguments[mine[i]].type;
        const Type& b = other.declaration->arguments[theirs[i]].type;
        if (a.list && b.list && a.base != b.base) return true;
      }
    }
    return false;
  }

  static bool is_tensor(const Argument& argument) { return argument.type.base == Base::Tensor && !argument.type.list; }

  // Whether one of the passed values is a list that a fast path reads.
  bool reads_list(const PlannedOp& op, size_t given) const {
    const auto indices = positional(op);
    return std::any_of(indices.begin(), indices.begin() + static_cast<long>(given), [&](size_t i) {
      const Type& type = op.declaration->arguments[i].type;
      return type.list && (type.base == Base::Int || type.base == Base::Float);
    });
  }

  // Whether a handle would be read after the number passed instead of a tensor is written.
  bool has_handle_after(const PlannedOp& op, size_t given, size_t number) const {
    if (number == kNone) return false;
    const auto indices = positional(op);
    for (size_t i = number + 1; i < op.declaration->arguments.size(); ++i) {
      const auto at = std::find(indices.begin(), indices.begin() + static_cast<long>(given), i);
      const bool is_given = at != indices.begin() + static_cast<long>(given);
      if (is_self(op, i) || (is_given && is_tensor(op.declaration->arguments[i]))) return true;
    }
    return false;
  }

  std::string cases_for(size_t given) const {
    std::string text;
    std::vector<const PlannedOp*> slow;  // earlier overloads that take this many arguments, without a fast case
    for (const int index : group_.ops) {
      const PlannedOp& op = plan_.ops[static_cast<size_t>(index)];
      if (op.shadowed) continue;
      const bool by_position = accepts_count(op, given);
      const bool gathered = gathers(op, given);
      if (!by_position && !gathered) continue;
      const auto line = !by_position || is_hidden(op, slow, given) ? std::nullopt : line_for(op, given);
      // A case without a test takes every call, so later cases are unreachable.
      if (line && given == 0) return *line;
      if (line) {
        text += *line;
        if (op.number_tensors) text += line_for(op, given, last_tensor(op, given)).value_or("");
      }
      const auto integers = !gathered || integers_are_hidden(slow, given) ? std::nullopt : gathered_line(op, given);
      text += integers.value_or("");
      if ((by_position && !line) || (gathered && !integers)) slow.push_back(&op);
    }
    return text;
  }

  // The last passed parameter if it is a tensor that may be passed as a number, else kNone.
  size_t last_tensor(const PlannedOp& op, size_t given) const {
    if (given == 0) return kNone;
    const size_t last = positional(op)[given - 1];
    const Argument& argument = op.declaration->arguments[last];
    return argument.type.base == Base::Tensor && !argument.type.list && !argument.mutated ? last : kNone;
  }

  // One case: the test of all passed values, then the call. `number` is the index of a tensor passed as a number.
  std::optional<std::string> line_for(const PlannedOp& op, size_t given, size_t number) const {
    return number == kNone ? std::nullopt : line(op, given, number);
  }
  std::optional<std::string> line_for(const PlannedOp& op, size_t given) const { return line(op, given, kNone); }

  // The case of `given` integers in place of a list.
  std::optional<std::string> gathered_line(const PlannedOp& op, size_t given) const {
    const auto& arguments = op.declaration->arguments;
    const size_t list = positional(op)[0];
    std::string conditions;
    std::string integers;
    for (size_t i = 0; i < given; ++i) {
      const std::string name = "a" + std::to_string(i);
      conditions += (i == 0 ? "" : " && ") + fill(js::kIsInteger, {{"value", name}});
      integers += ", " + name;
    }
    std::string values;
    std::vector<std::string> names(arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (is_self(op, i)) names[i] = "this";
      const auto text = is_self(op, i) ? fill(js::kHandle, {{"tensor", "this"}})
                        : i == list    ? fill(js::kGathered, {{"count", std::to_string(given)}, {"integers", integers}})
                                       : default_text(arguments[i]);
      if (!text) return std::nullopt;
      values += (i == 0 ? "" : ", ") + *text;
    }
    return tested_line(op, conditions, values, names);
  }

  std::optional<std::string> line(const PlannedOp& op, size_t given, size_t number) const {
    const auto& arguments = op.declaration->arguments;
    const auto& returns = op.declaration->returns;
    const auto hands_back = [](const Return& r) { return r.alias.find('!') != std::string::npos; };
    if (returns.size() > 1 && std::any_of(returns.begin(), returns.end(), hands_back)) return std::nullopt;
    const auto indices = positional(op);
    const bool rival = has_list_rival(op, given);
    std::string conditions;
    std::string reads;
    std::string handles;
    std::vector<std::string> names(arguments.size());
    std::string values;
    const auto add = [](std::string* text, const std::string& separator, const std::string& part) {
      if (!text->empty() && !part.empty()) *text += separator;
      *text += part;
    };
    const bool in_order = !reads_list(op, given) && !has_handle_after(op, given, number);
    // The handle of a tensor, which must be read before the lists, because a Proxy's `get` is user code.
    const auto handle_of = [&](const std::string& tensor, const std::string& local) {
      const std::string handle = fill(js::kHandle, {{"tensor", tensor}});
      if (in_order) return handle;
      add(&handles, ", ", local + " = " + handle);
      return local;
    };
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!values.empty()) values += ", ";
      const auto at = std::find(indices.begin(), indices.end(), i);
      const size_t position = static_cast<size_t>(at - indices.begin());
      if (is_self(op, i)) {
        names[i] = "this";
        values += handle_of("this", "h");
        continue;
      }
      if (at == indices.end() || position >= given) {
        const auto text = default_text(arguments[i]);
        if (!text) return std::nullopt;
        values += *text;
        continue;
      }
      names[i] = "a" + std::to_string(position);
      const auto test =
          i == number ? std::optional<Test>(number_test(names[i])) : test_for(arguments[i], names[i], rival);
      if (!test) return std::nullopt;
      add(&conditions, " && ", test->condition);
      if (!test->read.empty()) add(&reads, " && ", fill(js::kIsRead, {{"read", test->read}}));
      const bool is_handle = i != number && is_tensor(arguments[i]);
      values += is_handle ? handle_of(names[i], "h" + std::to_string(position)) : test->value;
    }
    // The first list's test reads the handles first.
    if (!handles.empty() && !reads.empty()) reads.insert(1, handles + ", ");
    if (!handles.empty() && reads.empty()) reads = "(" + handles + ", true)";
    add(&conditions, " && ", reads);
    return tested_line(op, conditions, values, names);
  }

  std::optional<Test> test_for(const Argument& argument, const std::string& name, bool rival) const {
    const bool is_dtype = argument.type.base == Base::Dtype && !argument.type.list;
    return named_ && is_dtype ? dtype_test(name) : test_of(argument.type, name, rival);
  }

  std::string tested_line(const PlannedOp& op, const std::string& conditions, std::string values,
                          const std::vector<std::string>& names) const {
    // Trailing nulls are omitted: native code treats missing arguments as null.
    while (values.size() >= 6 && values.compare(values.size() - 6, 6, ", null") == 0) values.resize(values.size() - 6);
    const std::string call = fill(js::kCall, {{"row", std::to_string(op.number)}, {"values", values}});
    const std::string result = result_text(op, call, names);
    if (!conditions.empty()) return fill(js::kTestedLine, {{"conditions", conditions}, {"result", result}});
    const bool is_one = result.find("; ") == std::string::npos;
    return fill(js::kUntestedLine, {{"result", is_one ? result : fill(js::kStatements, {{"statements", result}})}});
  }

  const Plan& plan_;
  const Group& group_;
  const bool method_;
  const bool named_;
};

}  // namespace

FastPath fast_path(const Plan& plan, const Group& group, bool method, bool options) {
  const bool internal = group.js_name[0] == '_' || group.js_name.find("ackward") != std::string::npos;
  const bool all = options && !internal;
  return Builder(plan, group, method, all)
      .build(all ? option_lines(plan, group, method) : std::map<size_t, std::string>());
}

}  // namespace codegen
