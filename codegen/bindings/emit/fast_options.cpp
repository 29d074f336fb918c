#include "codegen/bindings/emit/fast_options.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/bindings/emit/fast_value.h"
#include "codegen/bindings/emit/js_templates.h"
#include "codegen/bindings/text/names.h"
#include "codegen/common/template.h"

namespace codegen {
namespace {

// Each form is some 250 bytes in a file that every program loads, so only what callers are likely to write is here.
constexpr size_t kMaxPositional = 3;
constexpr size_t kMaxForms = 5;  // of one wrapper

// What callers usually name.
constexpr std::string_view kNames[] = {"alpha",   "beta", "correction", "descending",   "device",   "dim",  "dtype",
                                       "keepdim", "max",  "min",        "roundingMode", "unbiased", "value"};

bool is_usual(const std::string& name) {
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// A number of positional arguments, then an object with these names, in this order.
struct Form {
  size_t count = 0;
  std::vector<std::string> keys;

  bool operator==(const Form& other) const { return count == other.count && keys == other.keys; }
};

std::string variable(const char* letter, size_t i) { return letter + std::to_string(i); }

void append(std::string* text, const std::string& separator, const std::string& part) {
  if (!text->empty() && !part.empty()) *text += separator;
  *text += part;
}

bool is_tensor(const Argument& argument) { return argument.type.base == Base::Tensor && !argument.type.list; }

// The test of an option, whose value was read into `name`.
std::optional<Test> option_test(const Type& type, const std::string& name, bool not_empty) {
  if (type.base == Base::Tensor) return std::nullopt;
  if (type.base == Base::Dtype && !type.list) return dtype_test(name);
  if (type.base == Base::Device && !type.list) return Test{fill(js::kIsString, {{"value", name}}), name};
  return test_of(type, name, not_empty);
}

// How one overload takes a form: for each of its arguments the slot of the call, or kDefault, or kSelf.
// Slots are the positional arguments, then the options.
constexpr int kDefault = -1;
constexpr int kSelf = -2;

class OptionForms {
 public:
  OptionForms(const Plan& plan, const Group& group, bool method) : method_(method) {
    for (const int index : group.ops) {
      const PlannedOp& op = plan.ops[static_cast<size_t>(index)];
      if (!op.shadowed) ops_.push_back(&op);
    }
  }

  std::map<size_t, std::string> build() const {
    std::map<size_t, std::string> lines;
    size_t forms = 0;
    for (const Form& form : all_forms()) {
      const std::string block = block_of(form);
      if (block.empty()) continue;
      std::string& text = lines[form.count + 1];
      text += text.empty() ? fill(js::kFirstForm, {{"options", variable("a", form.count)}, {"form", block}})
                           : fill(js::kNextForm, {{"form", block}});
      if (++forms == kMaxForms) break;
    }
    for (auto& [count, text] : lines) text += "\n";
    return lines;
  }

 private:
  bool is_self(const PlannedOp& op, size_t index) const { return method_ && static_cast<int>(index) == op.self; }

  std::vector<size_t> positional(const PlannedOp& op) const {
    std::vector<size_t> indices;
    const auto& arguments = op.declaration->arguments;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i].kwarg_only && !arguments[i].out && !is_self(op, i)) indices.push_back(i);
    }
    return indices;
  }

  // The forms that some overload could take, the shortest first.
  std::vector<Form> all_forms() const {
    std::vector<Form> forms;
    for (const PlannedOp* op : ops_) {
      const size_t most = std::min(positional(*op).size(), kMaxPositional);
      for (size_t count = 0; count <= most; ++count) add_forms(*op, count, &forms);
    }
    std::stable_sort(forms.begin(), forms.end(), [](const Form& a, const Form& b) {
      return std::make_pair(a.count + a.keys.size(), a.count) < std::make_pair(b.count + b.keys.size(), b.count);
    });
    return forms;
  }

  void add_forms(const PlannedOp& op, size_t count, std::vector<Form>* forms) const {
    const auto& arguments = op.declaration->arguments;
    if (std::any_of(arguments.begin(), arguments.end(), [](const Argument& a) { return a.out; })) return;
    const auto slots = positional(op);
    std::vector<std::string> tail;
    std::vector<std::string> required;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const auto at = std::find(slots.begin(), slots.begin() + static_cast<long>(count), i);
      if (is_self(op, i) || at != slots.begin() + static_cast<long>(count)) continue;
      const std::string name = argument_js_name(arguments[i].name);
      const bool fits = is_usual(name) && option_test(arguments[i].type, "v0", false).has_value();
      if (!arguments[i].default_value && !fits) return;
      if (fits) tail.push_back(name);
      if (!arguments[i].default_value) required.push_back(name);
    }
    const auto add = [&](std::vector<std::string> keys) {
      const bool all = std::all_of(required.begin(), required.end(), [&](const std::string& name) {
        return std::find(keys.begin(), keys.end(), name) != keys.end();
      });
      const Form form = {count, std::move(keys)};
      if (all && std::find(forms->begin(), forms->end(), form) == forms->end()) forms->push_back(form);
    };
    static_assert(kMaxOptions == 2, "one loop for each key");
    for (size_t i = 0; i < tail.size(); ++i) {
      add({tail[i]});
      for (size_t j = i + 1; j < tail.size(); ++j) add({tail[i], tail[j]});
    }
  }

  // Where each argument of an overload comes from; nothing if it does not take the form.
  std::optional<std::vector<int>> sources_of(const PlannedOp& op, const Form& form) const {
    const auto& arguments = op.declaration->arguments;
    const auto slots = positional(op);
    if (form.count > slots.size()) return std::nullopt;
    std::vector<int> sources(arguments.size(), kDefault);
    for (size_t i = 0; i < form.count; ++i) sources[slots[i]] = static_cast<int>(i);
    size_t used = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (is_self(op, i)) {
        sources[i] = kSelf;
        continue;
      }
      const auto key = std::find(form.keys.begin(), form.keys.end(), argument_js_name(arguments[i].name));
      if (key != form.keys.end()) {
        if (sources[i] != kDefault) return std::nullopt;
        sources[i] = static_cast<int>(form.count + static_cast<size_t>(key - form.keys.begin()));
        ++used;
      }
      if (sources[i] == kDefault && !arguments[i].default_value) return std::nullopt;
    }
    if (used != form.keys.size()) return std::nullopt;
    return sources;
  }

  // Whether the parser may gather positional arguments into one list.
  bool may_gather(const Form& form) const {
    return std::any_of(ops_.begin(), ops_.end(), [&](const PlannedOp* op) {
      const auto slots = positional(*op);
      if (slots.empty()) return false;
      const Argument& last = op->declaration->arguments[slots.back()];
      if (!last.type.list) return false;
      if (last.type.base == Base::Tensor) return form.count >= slots.size();
      return slots.size() == 1 && last.type.base == Base::Int && last.type.size == 0 && form.count > 1;
    });
  }

  using Taken = std::pair<const PlannedOp*, std::vector<int>>;

  static const Type& type_at(const Taken& taken, size_t slot) {
    const auto& [op, sources] = taken;
    const auto at = std::find(sources.begin(), sources.end(), static_cast<int>(slot));
    return op->declaration->arguments[static_cast<size_t>(at - sources.begin())].type;
  }

  static size_t slots_of(const Form& form) { return form.count + form.keys.size(); }

  // Whether an earlier overload without a line might accept values that fit this one.
  static bool is_hidden(const Taken& mine, const std::vector<Taken>& slow, const Form& form) {
    return std::any_of(slow.begin(), slow.end(), [&](const Taken& other) {
      for (size_t i = 0; i < slots_of(form); ++i) {
        if (!may_overlap(type_at(mine, i), type_at(other, i))) return false;
      }
      return true;
    });
  }

  // Whether another overload takes a list of other elements in the same place, so that an empty list fits both.
  static bool has_list_rival(const Taken& mine, const std::vector<Taken>& all, const Form& form) {
    return std::any_of(all.begin(), all.end(), [&](const Taken& other) {
      for (size_t i = 0; i < slots_of(form); ++i) {
        const Type& a = type_at(mine, i);
        const Type& b = type_at(other, i);
        if (a.list && b.list && a.base != b.base) return true;
      }
      return false;
    });
  }

  // What a positional argument must be before anything is read, so that reading the others is all that runs user code.
  static std::optional<std::string> shape_of(const Type& type, const std::string& name) {
    if (type.list) return fill(type.size > 0 ? js::kIsListOrNumber : js::kIsList, {{"value", name}});
    const auto test = test_of(type, name, false);
    return test ? std::optional<std::string>(test->condition) : std::nullopt;
  }

  // Everything for one form, or "" if no overload has a line for it.
  std::string block_of(const Form& form) const {
    if (may_gather(form)) return "";
    std::vector<Taken> all;
    for (const PlannedOp* op : ops_) {
      if (auto sources = sources_of(*op, form)) all.emplace_back(op, std::move(*sources));
    }
    std::vector<std::string> shapes(form.count);
    std::vector<bool> lists(form.count);
    std::vector<Taken> slow;
    std::string lines;
    for (const Taken& taken : all) {
      const bool rival = has_list_rival(taken, all, form);
      std::optional<std::string> text;
      if (!is_hidden(taken, slow, form) && (lines.empty() || same_lists(taken, lists)))
        text = line(taken, form, rival, kDefault);
      if (!text) {
        slow.push_back(taken);
        continue;
      }
      for (size_t i = 0; i < form.count; ++i) {
        lists[i] = type_at(taken, i).list;
        add_shape(&shapes[i], *shape_of(type_at(taken, i), variable("a", i)));
      }
      lines += *text;
      const int last = static_cast<int>(form.count) - 1;
      if (!taken.first->number_tensors || last < 0 || !takes_number(taken, last)) continue;
      add_shape(&shapes[static_cast<size_t>(last)], number_test(variable("a", static_cast<size_t>(last))).condition);
      lines += line(taken, form, rival, last).value_or("");
    }
    return lines.empty() ? "" : frame(form, shapes, lists, lines);
  }

  static bool takes_number(const Taken& taken, int slot) {
    const auto& [op, sources] = taken;
    const auto at = std::find(sources.begin(), sources.end(), slot) - sources.begin();
    const Argument& argument = op->declaration->arguments[static_cast<size_t>(at)];
    return is_tensor(argument) && !argument.mutated;
  }

  static bool same_lists(const Taken& taken, const std::vector<bool>& lists) {
    for (size_t i = 0; i < lists.size(); ++i) {
      if (type_at(taken, i).list != lists[i]) return false;
    }
    return true;
  }

  static void add_shape(std::string* shapes, const std::string& shape) {
    if (shapes->find(shape) == std::string::npos) append(shapes, " || ", shape);
  }

  // The reading around the lines: tests that run no user code, values in the caller's order, what remains for the
  // parser.
  static std::string frame(const Form& form, const std::vector<std::string>& shapes, const std::vector<bool>& lists,
                           const std::string& lines) {
    std::string conditions;
    std::string before;  // reads positional lists
    std::string values;
    for (size_t i = 0; i < form.count; ++i) {
      const bool several = shapes[i].find(" || ") != std::string::npos;
      append(&conditions, " && ", several ? "(" + shapes[i] + ")" : shapes[i]);
      if (lists[i]) before += fill(js::kReadValue, {{"local", variable("v", i)}, {"value", variable("a", i)}});
      append(&values, ", ", variable(lists[i] ? "v" : "a", i));
    }
    const std::string options = variable("a", form.count);
    std::string read;
    std::string members;
    for (size_t k = 0; k < form.keys.size(); ++k) {
      const std::string local = variable("v", form.count + k);
      read += fill(js::kReadValue, {{"local", local}, {"value", options + "." + form.keys[k]}});
      append(&members, ", ", form.keys[k] + ": " + local);
    }
    const std::string only = form.keys.size() == 1
                                 ? fill(js::kHasOne, {{"name", form.keys[0]}})
                                 : fill(js::kHasTwo, {{"name", form.keys[0]}, {"second", form.keys[1]}});
    conditions = only + (conditions.empty() ? "" : " && ") + conditions;
    const std::string comma = values.empty() ? "" : ", ";
    const std::string rest = fill(js::kRest, {{"values", values + comma}, {"members", members}});
    if (before.empty())
      return fill(js::kForm, {{"conditions", conditions}, {"read", read}, {"lines", lines}, {"rest", rest}});
    return fill(js::kListForm, {{"conditions", conditions},
                                {"before", before},
                                {"options", options},
                                {"only", only},
                                {"read", read},
                                {"lines", lines},
                                {"rest", rest},
                                {"unread", values + comma + options}});
  }

  static bool reads_list(const Taken& taken) {
    const auto& [op, sources] = taken;
    for (size_t i = 0; i < sources.size(); ++i) {
      if (sources[i] >= 0 && op->declaration->arguments[i].type.list) return true;
    }
    return false;
  }

  // Whether a handle would be read after the number passed instead of a tensor is written.
  static bool has_handle_after(const Taken& taken, const Form& form, int number) {
    const std::vector<int>& sources = taken.second;
    if (number == kDefault) return false;
    const auto at = std::find(sources.begin(), sources.end(), number);
    return std::any_of(at + 1, sources.end(), [&form](int source) {
      return source == kSelf || (source >= 0 && static_cast<size_t>(source) < form.count);
    });
  }

  // One overload's tests and call. `number`: the slot of a tensor that is passed as a number, or kDefault.
  std::optional<std::string> line(const Taken& taken, const Form& form, bool rival, int number) const {
    const auto& [op, sources] = taken;
    const auto& arguments = op->declaration->arguments;
    const auto& returns = op->declaration->returns;
    const auto hands_back = [](const Return& r) { return r.alias.find('!') != std::string::npos; };
    if (returns.size() > 1 && std::any_of(returns.begin(), returns.end(), hands_back)) return std::nullopt;
    std::string conditions;
    std::string reads;
    std::string
        handles;  // read before numbers and lists are written to the shared memory: a Proxy's `get` is user code
    const bool in_order = !reads_list(taken) && !has_handle_after(taken, form, number);
    std::string values;
    std::vector<std::string> names(arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!values.empty()) values += ", ";
      const int source = sources[i];
      if (source == kDefault) {
        const auto text = default_text(arguments[i]);
        if (!text) return std::nullopt;
        values += *text;
        continue;
      }
      const size_t slot = static_cast<size_t>(source);
      if (source == kSelf || (source != number && slot < form.count && is_tensor(arguments[i]))) {
        names[i] = source == kSelf ? "this" : variable("a", slot);
        const std::string local = source == kSelf ? "h" : variable("h", slot);
        if (source != kSelf) {
          const auto test = test_of(arguments[i].type, names[i], false);
          if (!test) return std::nullopt;
          append(&conditions, " && ", test->condition);
        }
        const std::string handle = fill(js::kHandle, {{"tensor", names[i]}});
        if (!in_order) append(&handles, ", ", local + " = " + handle);
        values += in_order ? handle : local;
        continue;
      }
      const bool option = slot >= form.count;
      names[i] = variable(option || arguments[i].type.list ? "v" : "a", slot);
      const auto test = source == number ? std::optional<Test>(number_test(names[i]))
                        : option         ? option_test(arguments[i].type, names[i], rival)
                                         : test_of(arguments[i].type, names[i], rival);
      if (!test) return std::nullopt;
      append(&conditions, " && ", test->condition);
      if (!test->read.empty()) append(&reads, " && ", fill(js::kIsRead, {{"read", test->read}}));
      values += test->value;
    }
    if (reads.empty()) append(&conditions, " && ", handles.empty() ? "" : fill(js::kTrueAfter, {{"steps", handles}}));
    if (!reads.empty() && !handles.empty()) reads.insert(1, handles + ", ");
    append(&conditions, " && ", reads);
    while (values.size() >= 6 && values.compare(values.size() - 6, 6, ", null") == 0) values.resize(values.size() - 6);
    const std::string call = fill(js::kCall, {{"row", std::to_string(op->number)}, {"values", values}});
    return fill(js::kOptionLine, {{"conditions", conditions}, {"result", result_text(*op, call, names)}});
  }

  const bool method_;
  std::vector<const PlannedOp*> ops_;  // in the order in which they are tried
};

}  // namespace

std::map<size_t, std::string> option_lines(const Plan& plan, const Group& group, bool method) {
  return OptionForms(plan, group, method).build();
}

}  // namespace codegen
