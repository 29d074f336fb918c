#include "codegen/bindings/emit/fast_value.h"

#include <stdexcept>

#include "codegen/bindings/emit/js_templates.h"
#include "codegen/bindings/text/js_text.h"
#include "codegen/common/template.h"

namespace codegen {
namespace {

Plain plain_of(const Type& type) { return fit_of(type.base).plain; }

bool is_number(const Type& type) {
  const Plain plain = plain_of(type);
  return !type.list && (plain == Plain::Number || plain == Plain::Integer || plain == Plain::Boolean);
}

}  // namespace

bool may_overlap(const Type& a, const Type& b) {
  const Plain left = plain_of(a);
  const Plain right = plain_of(b);
  if ((!a.list && left == Plain::None) || (!b.list && right == Plain::None)) return true;
  // Lists differ by their elements; empty ones go to the parser, see has_list_rival(). A number fits any list of
  // numbers.
  const auto takes_number = [](const Type& t) {
    return t.list && t.size > 0 && (t.base == Base::Int || t.base == Base::Float);
  };
  if (a.list && b.list && a.base != b.base) return takes_number(a) && takes_number(b);
  if (takes_number(a) && is_number(b)) return true;
  if (a.list == b.list && (a.list || left == right)) return true;
  if (a.nullable || b.nullable) return true;
  if (is_number(a) && is_number(b)) return true;
  if (!a.list && left == Plain::Tensor && is_number(b)) return true;  // a tensor without dimensions counts as a number
  // A number is accepted for int[N].
  return !a.list && (left == Plain::Integer || left == Plain::Number) && b.list;
}

std::optional<Test> test_of(const Type& type, const std::string& name, bool not_empty) {
  const std::string least = not_empty ? ", 1" : "";
  const std::string local = "p" + name.substr(1);
  // A single number is accepted and repeated.
  if (type.list && type.base == Base::Int && type.size > 0 && !type.element_nullable) {
    const std::string size = std::to_string(type.size);
    return Test{"", local,
                fill(js::kReadIntsOfSize, {{"local", local}, {"value", name}, {"size", size}, {"least", least}})};
  }
  if (type.list) {
    if ((type.base != Base::Int && type.base != Base::Float) || type.element_nullable) return std::nullopt;
    const char* const reader = plain_of(type) == Plain::Integer ? js::kReadInts : js::kReadNumbers;
    return Test{"", local, fill(reader, {{"local", local}, {"value", name}, {"least", least}})};
  }
  const auto test = [&](const char* text) { return Test{fill(text, {{"value", name}}), name}; };
  switch (plain_of(type)) {  // the same tests as isPlain() in lib/call/plain.ts
    case Plain::None:
      return std::nullopt;
    case Plain::Tensor:
      if (type.nullable) return std::nullopt;
      return Test{fill(js::kIsTensor, {{"value", name}}), fill(js::kHandle, {{"tensor", name}})};
    case Plain::Number:
      return test(js::kIsNumber);
    case Plain::Integer:
      return test(js::kIsInteger);
    case Plain::Boolean:
      return test(js::kIsBoolean);
    case Plain::String:
      return test(js::kIsString);
  }
  throw std::logic_error("fast_value.cpp lacks a test for a kind of plain values");
}

Test number_test(const std::string& name) {
  return {fill(js::kIsNumber, {{"value", name}}), fill(js::kNumberTensor, {{"value", name}})};
}

Test dtype_test(const std::string& name) {
  const std::string local = "d" + name.substr(1);
  return {fill(js::kIsDtype, {{"local", local}, {"value", name}}), local};
}

std::optional<std::string> default_text(const Argument& argument) {
  if (!argument.default_value) return std::nullopt;
  const Default& value = *argument.default_value;
  if (value.kind == Default::Kind::Dtype) return std::nullopt;  // its number is only known at run time
  if (value.kind == Default::Kind::MemoryFormat) {
    // Serialised models fix the enum's values.
    if (value.text == "contiguous") return "0";
    if (value.text == "preserve") return "1";
    return std::nullopt;
  }
  // null means absent, for a tensor as for any other value.
  return default_json(value);
}

std::string result_text(const PlannedOp& op, const std::string& call, const std::vector<std::string>& names) {
  const auto& returns = op.declaration->returns;
  if (returns.empty()) return fill(js::kReturnNothing, {{"call", call}});
  if (returns.size() == 1) {
    const Return& result = returns[0];
    if (result.alias.find('!') != std::string::npos) {
      for (size_t i = 0; i < op.declaration->arguments.size(); ++i) {
        const Argument& argument = op.declaration->arguments[i];
        if (argument.mutated && argument.alias == result.alias) {
          return fill(js::kReturnArgument, {{"call", call}, {"argument", names[i]}});
        }
      }
    }
    if (result.type.base == Base::Tensor && !result.type.list) return fill(js::kReturnTensor, {{"call", call}});
    if (!result.type.list &&
        (result.type.base == Base::Int || result.type.base == Base::Float || result.type.base == Base::Bool)) {
      return fill(js::kReturnValue, {{"call", call}});
    }
  }
  return fill(js::kReturnResults, {{"row", std::to_string(op.number)}, {"call", call}});
}

}  // namespace codegen
