// How recorded ops' arguments are read: each type that an op's schema can have is known, all others are refused.
#include "native/ops/value_kind.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace ltn {
namespace {

// The type without optional and list.
c10::TypePtr innermost(c10::TypePtr type) {
  while (true) {
    if (type->kind() == c10::TypeKind::OptionalType) {
      type = type->castRaw<c10::OptionalType>()->getElementType();
    } else if (type->kind() == c10::TypeKind::ListType) {
      type = type->castRaw<c10::ListType>()->getElementType();
    } else {
      return type;
    }
  }
}

TEST(ValueKind, TypesOfOpsAreKnown) {
  size_t arguments = 0;
  for (const char* const name :
       {"aten::add", "aten::sum", "aten::empty", "aten::conv2d", "aten::normal_", "aten::index", "aten::einsum",
        "aten::to", "aten::record_stream", "aten::set_", "aten::upsample_nearest2d", "aten::native_dropout"}) {
    for (const char* const overload :
         {"", "Tensor", "dtype", "memory_format", "dtype_layout", "source_Storage", "vec"}) {
      const auto op = c10::Dispatcher::singleton().findSchema({name, overload});
      if (!op.has_value()) continue;
      for (const c10::Argument& argument : op->schema().arguments()) {
        ++arguments;
        EXPECT_TRUE(value_kind(innermost(argument.type())->kind()).has_value()) << op->schema() << ": " << argument;
      }
    }
  }
  EXPECT_GT(arguments, 50u);
}

TEST(ValueKind, OtherTypesAreRefused) {
  for (const c10::TypeKind kind : {c10::TypeKind::ComplexType, c10::TypeKind::AnyType, c10::TypeKind::DictType,
                                   c10::TypeKind::FutureType, c10::TypeKind::ListType, c10::TypeKind::NoneType}) {
    EXPECT_FALSE(value_kind(kind).has_value()) << c10::typeKindToString(kind);
  }
  EXPECT_EQ(value_kind(c10::TypeKind::IntType), ValueKind::Integer);
}

}  // namespace
}  // namespace ltn
