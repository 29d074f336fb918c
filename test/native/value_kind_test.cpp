// How recorded ops' arguments are read: each type that an op's schema can have is known, all others are refused.
#include "native/ops/value_kind.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>
#include <gtest/gtest.h>

#include <set>
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

// Of this libtorch: a release with another type needs a kind for it.
TEST(ValueKind, TypesOfAllOpsAreKnown) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  size_t arguments = 0;
  std::set<std::string> unknown;
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op.has_value()) continue;  // kernels without a schema
    for (const c10::Argument& argument : op->schema().arguments()) {
      ++arguments;
      const c10::TypeKind kind = innermost(argument.type())->kind();
      if (kind == c10::TypeKind::ClassType) continue;  // weights of quantized RNNs, of ops that are not in the table
      if (!value_kind(kind)) unknown.insert(name.name + ": " + argument.type()->str());
    }
  }
  EXPECT_GT(arguments, 5000u);
  EXPECT_EQ(unknown, std::set<std::string>());
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
