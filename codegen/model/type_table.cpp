#include "codegen/model/type_table.h"

#include <stdexcept>

namespace codegen {
namespace {

constexpr const char* kInteger = "number | bigint";
constexpr const char* kNumber = "number | bigint | boolean | Complex";

bool starts_with(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

// Newer libtorch writes ::std:: instead of c10:: (optional, string_view); the table has the older spelling.
std::string older_spelling(std::string text) {
  for (const std::string newer : {"::std::", "std::"}) {
    for (const std::string word : {"optional<", "string_view"}) {
      for (std::size_t at = text.find(newer + word); at != std::string::npos; at = text.find(newer + word)) {
        text.replace(at, newer.size(), "c10::");
      }
    }
  }
  return text;
}

// The N of "::std::array<bool,N>", 0 for any other text.
int bool_array_size(const std::string& text) {
  const std::string prefix = "::std::array<bool,";
  if (!starts_with(text, prefix) || text.back() != '>') return 0;
  int size = 0;
  for (std::size_t i = prefix.size(); i + 1 < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9' || size > 1000) return 0;
    size = size * 10 + (text[i] - '0');
  }
  return size;
}

std::string with_suffixes(const std::string& base, const Type& type) {
  std::string text = base;
  if (type.list) {
    if (type.element_nullable) text += "?";
    text += type.size > 0 ? "[" + std::to_string(type.size) + "]" : "[]";
  }
  return type.nullable ? text + "?" : text;
}

}  // namespace

const std::vector<TypeRow>& type_table() {
  static const std::vector<TypeRow> table = {
      {Base::Tensor, "Tensor", "Tensor", 'T', "at::Tensor", "at::TensorList", "Tensor", "Tensor"},
      {Base::Scalar, "Scalar", "Scalar", 'S', "const at::Scalar &", "at::ArrayRef<at::Scalar>", "Scalar", kNumber},
      {Base::Int, "Int", "int", 'I', "int64_t", "at::IntArrayRef", kInteger, kInteger},
      {Base::Float, "Float", "float", 'F', "double", "at::ArrayRef<double>", "number", "number"},
      {Base::Bool, "Bool", "bool", 'B', "bool", "::std::array<bool,N>", "boolean", "boolean"},
      {Base::Str, "Str", "str", 's', "c10::string_view", "at::ArrayRef<c10::string_view>", "string", "string"},
      {Base::Dtype, "Dtype", "ScalarType", 'D', "at::ScalarType", "at::ArrayRef<at::ScalarType>", "DTypeLike", "DType"},
      {Base::Layout, "Layout", "Layout", 'L', "at::Layout", "", "Layout", "Layout"},
      {Base::MemoryFormat, "MemoryFormat", "MemoryFormat", 'M', "at::MemoryFormat", "", "MemoryFormat", "MemoryFormat"},
      {Base::Device, "Device", "Device", 'V', "at::Device", "", "Device", "Device"},
      {Base::Generator, "Generator", "Generator", 'G', "at::Generator", "", "Generator", "Generator"},
      {Base::ScriptModule, "ScriptModule", "ScriptModule", 'P', "", "", "ScriptModule", "ScriptModule"},
      {Base::Storage, "Storage", "Storage", 'R', "at::Storage", "", "Storage", "Storage"},
      {Base::Stream, "Stream", "Stream", 'X', "at::Stream", "", "Stream", "Stream"},
      {Base::Dimname, "Dimname", "Dimname", 'N', "at::Dimname", "at::DimnameList", "string | null", "string | null"},
      {Base::QScheme, "QScheme", "QScheme", 'Q', "at::QScheme", "", "string", "string"},
      {Base::DeviceIndex, "DeviceIndex", "DeviceIndex", 'O', "at::DeviceIndex", "", "number", "number"},
      {Base::SymBool, "SymBool", "SymBool", 'Z', "c10::SymBool", "", "boolean", "boolean"},
      {Base::Any, "Any", "Any", 'A', "", "", "unknown", "unknown"},
      {Base::True, "True", "True", 'Y', "", "", "true", "true"},
  };
  return table;
}

const char* plain_name(Plain plain) {
  static constexpr const char* names[] = {"None", "Tensor", "Number", "Integer", "Boolean", "String"};
  return names[static_cast<size_t>(plain)];
}

const TypeRow kNumberTensor = {Base::Tensor, "NumberTensor",   "Tensor", 'W',
                               "at::Tensor", "at::TensorList", "Tensor", "Tensor"};

const TypeRow& type_row(Base base) {
  for (const TypeRow& row : type_table()) {
    if (row.base == base) return row;
  }
  throw std::logic_error("type_table.cpp lacks a row for a base type of fit.h");
}

std::string type_code(const Type& type) { return with_suffixes(std::string(1, type_row(type.base).code), type); }

std::string schema_type(const Type& type) { return with_suffixes(type_row(type.base).schema_name, type); }

Type parse_type(const TypeFields& fields) {
  const std::string spelling = older_spelling(fields.dynamic_type);
  Type type;
  type.nullable = fields.is_nullable;

  if (spelling == "const at::ITensorListRef &") {
    type.list = true;
    return type;
  }
  if (spelling == "const c10::List<c10::optional<at::Tensor>> &") {
    // is_nullable refers to the elements here; schemas do not have `Tensor?[]?`.
    type.list = true;
    type.element_nullable = true;
    type.nullable = false;
    return type;
  }
  if (const int size = bool_array_size(spelling); size > 0) {
    type.base = Base::Bool;
    type.list = true;
    type.size = size;
    return type;
  }
  for (const TypeRow& row : type_table()) {
    type.base = row.base;
    if (*row.cpp != '\0' && spelling == row.cpp) {
      if (fields.size != 0)
        throw std::invalid_argument("type '" + fields.dynamic_type + "' has a size but is not a list");
      return type;
    }
    if (*row.cpp_list != '\0' && spelling == row.cpp_list) {
      type.list = true;
      type.size = fields.size;
      return type;
    }
  }
  throw std::invalid_argument("unknown type '" + fields.dynamic_type + "'");
}

}  // namespace codegen
