// Which JavaScript values fit an argument, declared once: native code (native/convert/from_js.h) and the generated fast
// paths use the table, and codegen writes it for TypeScript (lib/generated/codes.d.ts, table.js).
#pragma once

#include <cstddef>

namespace codegen {

// The schema's base types. A new type needs an entry here and in kFits, and a row in type_table.cpp.
enum class Base {
  Tensor,
  Scalar,
  Int,
  Float,
  Bool,
  Str,
  Dtype,
  Layout,
  MemoryFormat,
  Device,
  Generator,
  ScriptModule,  // only in classes
  Storage,
  Stream,
  Dimname,
  QScheme,
  DeviceIndex,
  SymBool,
  Any,   // only in public functions, which interpret the value themselves
  True,  // only in public functions: the literal, which decides the result type
};

// The JavaScript values of a type that need no conversion. Lists, null and other values that a type accepts are
// converted by lib/call/convert.ts.
enum class Plain { None, Tensor, Number, Integer, Boolean, String };

struct Fit {
  Base base;
  Plain plain;
  const char* expected;  // in errors: "expected integer, got …", "expected array of integer, got …"
};

inline constexpr Fit kFits[] = {
    {Base::Tensor, Plain::Tensor, "Tensor"},
    {Base::Scalar, Plain::Number, "number, bigint, boolean or complex"},
    {Base::Int, Plain::Integer, "integer"},
    {Base::Float, Plain::Number, "number"},
    {Base::Bool, Plain::Boolean, "boolean"},
    {Base::Str, Plain::String, "string"},
    {Base::Dtype, Plain::None, "dtype"},
    {Base::Layout, Plain::None, "layout"},
    {Base::MemoryFormat, Plain::None, "memory format"},
    {Base::Device, Plain::None, "device"},
    {Base::Generator, Plain::None, "Generator"},
    {Base::ScriptModule, Plain::None, "ScriptModule"},
    {Base::Storage, Plain::None, "Storage"},
    {Base::Stream, Plain::None, "Stream"},
    {Base::Dimname, Plain::None, "dimension name"},
    {Base::QScheme, Plain::None, "quantization scheme"},
    {Base::DeviceIndex, Plain::None, "number of a device"},
    {Base::SymBool, Plain::None, "boolean"},
    {Base::Any, Plain::None, "value"},
    {Base::True, Plain::None, "true"},
};

// A tensor in whose place a number may be passed.
inline constexpr Fit kNumberTensorFit = {Base::Tensor, Plain::None, "Tensor or number"};

// The row of a base type. The rows are in the order of `Base`, which is checked below.
constexpr const Fit& fit_of(Base base) { return kFits[static_cast<std::size_t>(base)]; }

namespace checked {
constexpr bool in_order() {
  for (std::size_t i = 0; i < sizeof(kFits) / sizeof(kFits[0]); ++i) {
    if (static_cast<std::size_t>(kFits[i].base) != i) return false;
  }
  return sizeof(kFits) / sizeof(kFits[0]) == static_cast<std::size_t>(Base::True) + 1;
}
static_assert(in_order(), "kFits has one row for each entry of Base, in its order");
}  // namespace checked

}  // namespace codegen
