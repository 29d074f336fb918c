// The table of schema types. All properties of a base type are in its row.
#pragma once

#include <string>
#include <vector>

#include "codegen/model/schema.h"

namespace codegen {

inline constexpr Plain kPlains[] = {Plain::None,    Plain::Tensor,  Plain::Number,
                                    Plain::Integer, Plain::Boolean, Plain::String};
const char* plain_name(Plain plain);

// How one base type is written. Which values fit it is in fit.h.
struct TypeRow {
  Base base;
  const char* name;         // as in `Base`, for lib/generated/codes.d.ts
  const char* schema_name;  // as in a schema: "Tensor", "int", "ScalarType"
  char code;                // one letter for the JS signature tables: 'T', 'I', 'D'
  const char* cpp;          // the element as Declarations.yaml's dynamic_type writes it: "at::Tensor", "int64_t"
  const char* cpp_list;     // a list of it: "at::TensorList"; "" if schemas do not have such lists
  const char* ts_argument;  // TypeScript type of one accepted value: "number | bigint"
  const char* ts_result;    // TypeScript type of one returned value
};

// All rows, in the order of `Base`.
const std::vector<TypeRow>& type_table();

// A tensor that may be passed as a number, of the ops that take one; a kind for JavaScript only.
extern const TypeRow kNumberTensor;

// The row of a base type.
const TypeRow& type_row(Base base);

// The type in the schema's grammar with one-letter bases: "T", "T?", "T[]", "T?[]", "I[2]", "I[]?", "B[3]".
std::string type_code(const Type& type);

// The type as the schema writes it: "Tensor?", "int[2]", "bool[3]".
std::string schema_type(const Type& type);

// The type fields of one argument or return in a declaration.
struct TypeFields {
  std::string type;          // "const c10::optional<at::Tensor> &"
  std::string dynamic_type;  // "at::Tensor"
  bool is_nullable = false;
  int size = 0;  // 0 if the key is absent
};

// The type that the fields describe. Throws std::invalid_argument with the spelling if it is unknown.
Type parse_type(const TypeFields& fields);

}  // namespace codegen
