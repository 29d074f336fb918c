// How an argument of a recorded op is read, by its type in libtorch's dispatcher.
#pragma once

#include <ATen/core/jit_type_base.h>

#include <optional>

namespace ltn {

enum class ValueKind { Tensor, Bool, Float, Scalar, Integer, Device, Generator, Storage, Stream, Text };

// Of a type that is neither a list nor optional. Nothing for types that no op of the table takes: reading one of those
// as something else would pass a wrong value to the op.
inline std::optional<ValueKind> value_kind(c10::TypeKind kind) noexcept {
  using c10::TypeKind;
  switch (kind) {
    case TypeKind::TensorType:
      return ValueKind::Tensor;
    case TypeKind::BoolType:
      return ValueKind::Bool;
    case TypeKind::FloatType:
      return ValueKind::Float;
    case TypeKind::NumberType:
      return ValueKind::Scalar;
    case TypeKind::IntType:  // also sizes and numbers of devices
    case TypeKind::SymIntType:
    case TypeKind::ScalarTypeType:  // JavaScript passes the numbers of enums
    case TypeKind::LayoutType:
    case TypeKind::MemoryFormatType:
      return ValueKind::Integer;
    case TypeKind::DeviceObjType:
      return ValueKind::Device;
    case TypeKind::GeneratorType:
      return ValueKind::Generator;
    case TypeKind::StorageType:
      return ValueKind::Storage;
    case TypeKind::StreamObjType:
      return ValueKind::Stream;
    case TypeKind::StringType:
      return ValueKind::Text;
    default:
      return std::nullopt;
  }
}

}  // namespace ltn
