#include "codegen/bindings/dts/types.h"

#include "codegen/model/type_table.h"

namespace codegen {

std::string in_parentheses(const std::string& type) {
  return type.find(" | ") == std::string::npos ? type : "(" + type + ")";
}

std::string joined(const std::vector<std::string>& parts, const std::string& separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

std::string repeated_tuple(const std::string& element, size_t count) {
  return "readonly [" + joined(std::vector<std::string>(count, element), ", ") + "]";
}

std::string ts_argument(const Type& type) {
  const TypeRow& row = type_row(type.base);
  const std::string one = type.base == Base::Int ? "Int" : row.ts_argument;
  std::string text = one;
  if (type.list) {
    const std::string element = type.element_nullable ? one + " | null" : one;
    if (type.base == Base::Tensor) {
      text = type.element_nullable ? "TensorList<" + element + ">" : "TensorList";
    } else if (type.base == Base::Bool && type.size > 0) {
      text = repeated_tuple(element, static_cast<size_t>(type.size));
    } else {
      text = "readonly " + in_parentheses(element) + "[]";
      // A single value is accepted for a list of fixed length.
      if (type.size > 0) text = (type.base == Base::Dimname ? "string" : one) + " | " + text;
    }
  }
  return type.nullable ? text + " | null" : text;
}

std::string ts_result(const Type& type) {
  const std::string one = type.base == Base::Int      ? "Int"
                          : type.base == Base::Scalar ? "Scalar"
                                                      : type_row(type.base).ts_result;
  std::string text = one;
  if (type.list) text = in_parentheses(type.element_nullable ? one + " | null" : one) + "[]";
  if (text == "Tensor[]") text = "Parts<Tensor>";
  return type.nullable ? text + " | null" : text;
}

}  // namespace codegen
