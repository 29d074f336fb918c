#include "native/ops/typed_call.h"

#include <array>
#include <utility>

#include "native/ops/below_autograd.h"

namespace ltn {
namespace {

template <size_t>
using TensorArgument = const at::Tensor&;
template <size_t>
using ScalarArgument = const at::Scalar&;

template <size_t... tensor, size_t... scalar>
TypedCall make(const c10::OperatorHandle& op, BelowAutograd how, std::index_sequence<tensor...>,
               std::index_sequence<scalar...>) {
  const auto typed = op.typed<at::Tensor(TensorArgument<tensor>..., ScalarArgument<scalar>...)>();
  return [typed, how](const at::Tensor* const* tensors, const at::Scalar* scalars) {
    static_cast<void>(scalars);  // of a call without any
    if (how != BelowAutograd::kNever) {
      GradientFree call;
      (call.add(*tensors[tensor]), ...);
      if (call.holds()) {
        return call_below_autograd(how, [&](c10::DispatchKeySet keys) {
          return typed.redispatch(keys, *tensors[tensor]..., scalars[scalar]...);
        });
      }
    }
    return typed.call(*tensors[tensor]..., scalars[scalar]...);
  };
}

template <size_t tensors, size_t scalars>
TypedCall make(const c10::OperatorHandle& op, BelowAutograd how) {
  return make(op, how, std::make_index_sequence<tensors>(), std::make_index_sequence<scalars>());
}

using Make = TypedCall (*)(const c10::OperatorHandle&, BelowAutograd);
// By the numbers of tensors, less 1, and of scalars.
constexpr std::array<std::array<Make, kTypedScalars + 1>, kTypedTensors> kMakers{{
    {make<1, 0>, make<1, 1>, make<1, 2>},
    {make<2, 0>, make<2, 1>, make<2, 2>},
    {make<3, 0>, make<3, 1>, make<3, 2>},
}};

}  // namespace

TypedCall typed_call_of(const c10::OperatorHandle& op) {
  const auto& schema = op.schema();
  if (schema.returns().size() != 1 || schema.returns()[0].type()->kind() != c10::TypeKind::TensorType) return {};
  size_t tensors = 0, scalars = 0;
  for (const c10::Argument& argument : schema.arguments()) {
    const c10::TypeKind kind = argument.type()->kind();
    if (argument.alias_info() != nullptr) return {};
    if (kind == c10::TypeKind::TensorType && scalars == 0) {
      ++tensors;
    } else if (kind == c10::TypeKind::NumberType) {
      ++scalars;
    } else {
      return {};
    }
  }
  if (tensors == 0 || tensors > kTypedTensors || scalars > kTypedScalars) return {};
  return kMakers[tensors - 1][scalars](op, below_autograd_of(op));
}

}  // namespace ltn
