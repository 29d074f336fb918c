// Calls by the C++ signature: every op of a signature that the library takes can be called so, and gives what it gives
// boxed.
#include "native/ops/typed_call.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <array>

namespace ltn {
namespace {

c10::OperatorHandle op_named(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

// libtorch compares the C++ signature that an op was registered with: a schema that deceives would throw here.
TEST(TypedCall, IsThereForEveryOpOfTheseSignatures) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  size_t found = 0;
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (op.has_value() && name.name.rfind("aten::", 0) == 0 && typed_call_of(*op) != nullptr) ++found;
  }
  EXPECT_GT(found, 200u);
}

TEST(TypedCall, CallsTheOp) {
  const at::Tensor a = at::arange(6, at::kFloat).view({2, 3}), b = at::ones({2, 3});
  const std::array<const at::Tensor*, kTypedTensors> tensors{&a, &b, &a};
  const std::array<at::Scalar, kTypedScalars> scalars{2, 0.5};
  const auto call = [&](const char* name, const char* overload) {
    return typed_call_of(op_named(name, overload))(tensors.data(), scalars.data());
  };
  EXPECT_TRUE(at::equal(call("aten::relu", ""), a.relu()));
  EXPECT_TRUE(at::equal(call("aten::add", "Tensor"), at::add(a, b, 2)));
  EXPECT_TRUE(at::equal(call("aten::mul", "Scalar"), a.mul(2)));
  EXPECT_TRUE(at::equal(call("aten::add", "Scalar"), at::add(a, 2, 0.5)));
  EXPECT_TRUE(at::equal(call("aten::addcmul", ""), at::addcmul(a, b, a, 2)));
}

TEST(TypedCall, IsEmptyForOtherSignatures) {
  EXPECT_EQ(typed_call_of(op_named("aten::add_", "Tensor")), nullptr);            // writes
  EXPECT_EQ(typed_call_of(op_named("aten::view", "")), nullptr);                  // sizes
  EXPECT_EQ(typed_call_of(op_named("aten::dropout", "")), nullptr);               // other types
  EXPECT_EQ(typed_call_of(op_named("aten::unbind", "int")), nullptr);             // a list as its result
  EXPECT_EQ(typed_call_of(op_named("aten::equal", "")), nullptr);                 // a boolean
  EXPECT_EQ(typed_call_of(op_named("aten::_efficientzerotensor", "")), nullptr);  // no tensor
}

}  // namespace
}  // namespace ltn
