#include "native/ops/below_autograd.h"

#include <ATen/core/jit_type.h>

#include <array>
#include <string>

namespace ltn {
namespace {

// Whose kernels for autograd do more than to call the next one: they are hand-written (VariableTypeManual), or that of
// set_, which forgets where gradients are added up.
constexpr std::array<const char*, 8> kDoMore = {"aten::detach",     "aten::detach_", "aten::_fw_primal",
                                                "aten::_make_dual", "aten::resize_", "aten::resize_as_",
                                                "aten::copy_",      "aten::set_"};

bool writes(const c10::OperatorHandle& op) {
  for (const c10::Argument& argument : op.schema().arguments()) {
    if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) return true;
  }
  return false;
}

bool takes_tensor(const c10::OperatorHandle& op) {
  for (const c10::Argument& argument : op.schema().arguments()) {
    if (argument.type()->isSubtypeOf(*c10::TensorType::get()) ||
        argument.type()->isSubtypeOf(*c10::ListType::ofTensors()) ||
        argument.type()->isSubtypeOf(*c10::OptionalType::ofTensor())) {
      return true;
    }
  }
  return false;
}

// zeros_like and the others take the place of the new tensor from one that they do not read.
bool makes_one_like(const c10::OperatorHandle& op) {
  const std::string& name = op.schema().name();
  constexpr size_t kSuffix = sizeof("_like") - 1;
  return name.size() > kSuffix && name.compare(name.size() - kSuffix, kSuffix, "_like") == 0 &&
         op.schema().argumentIndexWithName("device").has_value();
}

}  // namespace

BelowAutograd below_autograd_of(const c10::OperatorHandle& op) {
  for (const char* name : kDoMore) {
    if (op.schema().name() == name) return BelowAutograd::kNever;
  }
  if (makes_one_like(op)) return BelowAutograd::kFactory;
  // A BackendSelect kernel chooses the device of a new tensor by an option.
  if (op.hasKernelForDispatchKey(c10::DispatchKey::BackendSelect)) {
    return takes_tensor(op) || writes(op) ? BelowAutograd::kNever : BelowAutograd::kFactory;
  }
  // A CompositeImplicitAutograd kernel comes before autograd's and calls other ops, which may be views. One for
  // AutogradCPU would come before the generated one; libtorch has none.
  const bool views_or_writes = op.hasKernelForDispatchKey(c10::DispatchKey::ADInplaceOrView);
  if ((writes(op) && !views_or_writes) || !op.hasKernelForDispatchKey(c10::DispatchKey::Autograd) ||
      op.hasKernelForDispatchKey(c10::DispatchKey::AutogradCPU) ||
      op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) ||
      !op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) {
    return BelowAutograd::kNever;
  }
  return views_or_writes ? BelowAutograd::kViewOrInPlace : BelowAutograd::kFunctional;
}

}  // namespace ltn
