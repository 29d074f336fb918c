// Calls below autograd: which ops and which tensors take that way, and that it gives what autograd's kernel gives.
#include "native/ops/below_autograd.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace ltn {
namespace {

c10::OperatorHandle op_named(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

BelowAutograd how(const char* name, const char* overload = "") { return below_autograd_of(op_named(name, overload)); }

template <class... T>
bool is_gradient_free(const T&... arguments) {
  GradientFree call;
  (call.add(arguments), ...);
  return call.holds();
}

TEST(BelowAutograd, KnowsWhatAnOpNeeds) {
  EXPECT_EQ(how("aten::add", "Tensor"), BelowAutograd::kFunctional);
  EXPECT_EQ(how("aten::sum", "dim_IntList"), BelowAutograd::kFunctional);
  EXPECT_EQ(how("aten::mm"), BelowAutograd::kFunctional);
  EXPECT_EQ(how("aten::view"), BelowAutograd::kViewOrInPlace);
  EXPECT_EQ(how("aten::unbind", "int"), BelowAutograd::kViewOrInPlace);
  EXPECT_EQ(how("aten::add_", "Tensor"), BelowAutograd::kViewOrInPlace);
  EXPECT_EQ(how("aten::zero_"), BelowAutograd::kViewOrInPlace);
  EXPECT_EQ(how("aten::transpose_"), BelowAutograd::kViewOrInPlace);
  EXPECT_EQ(how("aten::zeros"), BelowAutograd::kFactory);
  EXPECT_EQ(how("aten::randperm"), BelowAutograd::kFactory);
  EXPECT_EQ(how("aten::zeros_like"), BelowAutograd::kFactory);
  EXPECT_EQ(how("aten::randint_like"), BelowAutograd::kFactory);
  EXPECT_EQ(how("aten::matmul"), BelowAutograd::kNever);                        // composed of others
  EXPECT_EQ(how("aten::sparse_coo_tensor", "indices"), BelowAutograd::kNever);  // takes tensors
  // Whose kernels for autograd do more.
  EXPECT_EQ(how("aten::detach"), BelowAutograd::kNever);
  EXPECT_EQ(how("aten::copy_"), BelowAutograd::kNever);
  EXPECT_EQ(how("aten::resize_"), BelowAutograd::kNever);
  EXPECT_EQ(how("aten::set_", "source_Tensor"), BelowAutograd::kNever);
}

TEST(BelowAutograd, DenseTensorsWithoutGradientsTakeIt) {
  const at::Tensor a = at::ones({2, 3});
  EXPECT_TRUE(is_gradient_free(a));
  EXPECT_TRUE(is_gradient_free(a, a.view({6}), a.t(), at::ones({2}, at::kLong)));
  EXPECT_TRUE(is_gradient_free(a, c10::optional<at::Tensor>(), at::Tensor(), int64_t{2}, at::Scalar(2)));
  const std::vector<at::Tensor> list{a, a};
  EXPECT_TRUE(is_gradient_free(at::TensorList(list)));
  EXPECT_FALSE(is_gradient_free(int64_t{2}));  // a factory
}

TEST(BelowAutograd, NothingElseTakesIt) {
  const at::Tensor a = at::ones({2, 3});
  EXPECT_FALSE(is_gradient_free(a, at::ones({3}).to(at::kMeta)));
  EXPECT_FALSE(is_gradient_free(a.to_sparse()));
  EXPECT_FALSE(is_gradient_free(at::ones({2}, at::kComplexFloat).conj()));
  EXPECT_FALSE(is_gradient_free(at::_efficientzerotensor({2})));
  EXPECT_FALSE(is_gradient_free(at::Tensor()));
}

TEST(BelowAutograd, NorATensorOfAGraph) {
  const at::Tensor leaf = at::ones({2, 3}).requires_grad_();
  const at::Tensor computed = leaf.mul(2);
  const std::vector<at::Tensor> list{at::ones({2}), leaf};
  EXPECT_FALSE(is_gradient_free(leaf));
  EXPECT_FALSE(is_gradient_free(computed.view({6})));
  EXPECT_FALSE(is_gradient_free(at::TensorList(list)));
  EXPECT_TRUE(is_gradient_free(computed.detach()));
  const at::NoGradGuard off;
  EXPECT_TRUE(is_gradient_free(leaf, computed));
}

// A view of a tensor that joins a graph later is in the graph then.
TEST(BelowAutograd, NorAViewWhoseBaseJoinedAGraph) {
  const at::Tensor base = at::zeros({4});
  const at::Tensor view = base.view({2, 2});
  EXPECT_TRUE(is_gradient_free(view));
  base.add_(at::ones({4}).requires_grad_());
  EXPECT_FALSE(is_gradient_free(view));
}

TEST(BelowAutograd, NorAThreadInAMode) {
  const at::Tensor a = at::ones({2});
  {
    const c10::InferenceMode on(true);
    EXPECT_FALSE(is_gradient_free(a));
    EXPECT_FALSE(is_gradient_free(at::ones({2})));
  }
  EXPECT_TRUE(is_gradient_free(a));
  const at::AutoDispatchBelowAutograd other;
  EXPECT_FALSE(is_gradient_free(a));
}

TEST(BelowAutograd, NorACallThatSomeoneIsToldOf) {
  const at::Tensor a = at::ones({2});
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback([](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
        return {};
      }).scopes({at::RecordScope::FUNCTION}));
  EXPECT_FALSE(is_gradient_free(a));
  at::removeCallback(handle);
  EXPECT_TRUE(is_gradient_free(a));
}

TEST(BelowAutograd, AViewIsTracked) {
  const at::Tensor base = at::zeros({4});
  const at::Tensor view = call_below_autograd(BelowAutograd::kViewOrInPlace, [&](c10::DispatchKeySet keys) {
    return op_named("aten::unsqueeze", "").typed<at::Tensor(const at::Tensor&, int64_t)>().redispatch(keys, base, 0);
  });
  EXPECT_TRUE(view.is_view());
  const auto version = base._version();
  view.add_(1);
  EXPECT_EQ(base._version(), version + 1);
  view.add_(at::ones({4}).requires_grad_());
  EXPECT_TRUE(base.requires_grad());
}

TEST(BelowAutograd, AWriteCountsAsAVersion) {
  at::Tensor written = at::zeros({4});
  const auto before = written._version();
  const at::Tensor view = written.view({2, 2});
  const auto add =
      op_named("aten::add_", "Tensor").typed<at::Tensor&(at::Tensor&, const at::Tensor&, const at::Scalar&)>();
  at::Tensor& result = call_below_autograd(BelowAutograd::kViewOrInPlace, [&](c10::DispatchKeySet keys) -> at::Tensor& {
    return add.redispatch(keys, written, at::ones({4}), 2);
  });
  EXPECT_EQ(&result, &written);
  EXPECT_EQ(written.sum().item<float>(), 8);
  EXPECT_EQ(view._version(), before + 1);
}

}  // namespace
}  // namespace ltn
