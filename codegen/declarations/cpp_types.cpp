#include "codegen/declarations/cpp_types.h"

#include <stdexcept>

#include "codegen/model/type_table.h"

namespace codegen {
namespace {

// The element by value: "at::Scalar", "int64_t".
std::string value_type(Base base, const OperatorStyle& style) {
  if (base == Base::Scalar) return "at::Scalar";
  if (base == Base::Str) return style.spelling.string_view;
  return type_row(base).cpp;
}

std::string optional_of(const std::string& type, const OperatorStyle& style) {
  return style.spelling.optional + "<" + type + ">";
}

std::string list_type(const Type& type, const OperatorStyle& style) {
  if (type.base == Base::Bool) return "::std::array<bool," + std::to_string(type.size) + ">";
  if (type.base == Base::Tensor && type.element_nullable) {
    return "const c10::List<" + optional_of("at::Tensor", style) + "> &";
  }
  if (type.base == Base::Tensor && style.list_ref) return "const at::ITensorListRef &";
  if (type.base == Base::Str) return "at::ArrayRef<" + style.spelling.string_view + ">";
  const std::string spelling = type_row(type.base).cpp_list;
  if (spelling.empty() || type.element_nullable) {
    throw std::invalid_argument("the C++ type for " + schema_type(type) + " is unknown");
  }
  return spelling;
}

}  // namespace

OperatorStyle style_of(const std::string& signature, const Spelling& spelling) {
  OperatorStyle style;
  style.spelling = spelling;
  style.list_ref = signature.find("ITensorListRef") != std::string::npos;
  // An operator with a mutated tensor has a non-const one somewhere, unless it takes mutated tensors as const.
  const std::string tensor = "at::Tensor &";
  const std::string qualifier = "const ";
  bool plain = false;
  for (std::size_t at = signature.find(tensor); at != std::string::npos; at = signature.find(tensor, at + 1)) {
    const bool is_const =
        at >= qualifier.size() && signature.compare(at - qualifier.size(), qualifier.size(), qualifier) == 0;
    plain = plain || !is_const;
  }
  style.const_mutable = !plain;
  return style;
}

std::string argument_type(const Type& type, bool mutated, const OperatorStyle& style) {
  if (type.list) {
    if (type.nullable && type.base == Base::Int) return "at::OptionalIntArrayRef";
    return type.nullable ? optional_of(list_type(type, style), style) : list_type(type, style);
  }
  // torchgen writes a mutated `Tensor?` like a mutated Tensor.
  if (type.base == Base::Tensor && mutated && !style.const_mutable) return "at::Tensor &";
  const std::string value = value_type(type.base, style);
  const std::string spelling = type.nullable ? optional_of(value, style) : value;
  const bool by_reference = type.base == Base::Tensor || type.base == Base::Scalar;
  return by_reference ? "const " + spelling + " &" : spelling;
}

std::string return_type(const Type& type, bool mutated, const OperatorStyle& style) {
  if (type.list) return "::std::vector<" + value_type(type.base, style) + ">";
  const std::string value = value_type(type.base, style);
  if (type.base != Base::Tensor || !mutated) return value;
  return style.const_mutable ? "const at::Tensor &" : "at::Tensor &";
}

std::string dynamic_type(const Type& type, const OperatorStyle& style) {
  if (type.base == Base::Tensor && !type.list) return "at::Tensor";
  Type required = type;
  required.nullable = false;
  return argument_type(required, false, style);
}

}  // namespace codegen
