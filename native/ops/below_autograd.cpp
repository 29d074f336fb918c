#include "native/ops/below_autograd.h"

#include <array>
#include <string>

namespace ltn {
namespace {

// Whose kernels for autograd are hand-written (VariableTypeManual), and do more than to call the next one.
constexpr std::array<const char*, 3> kHandWritten = {"aten::detach", "aten::_fw_primal", "aten::_make_dual"};

bool writes(const c10::OperatorHandle& op) {
  for (const c10::Argument& argument : op.schema().arguments()) {
    if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) return true;
  }
  return false;
}

}  // namespace

BelowAutograd below_autograd_of(const c10::OperatorHandle& op) {
  for (const char* name : kHandWritten) {
    if (op.schema().name() == name) return BelowAutograd::kNever;
  }
  // A CompositeImplicitAutograd kernel comes before autograd's and calls other ops, which may be views. A BackendSelect
  // kernel is called between autograd's and the CPU's. One for AutogradCPU would come before the generated one;
  // libtorch has none.
  if (writes(op) || !op.hasKernelForDispatchKey(c10::DispatchKey::Autograd) ||
      op.hasKernelForDispatchKey(c10::DispatchKey::AutogradCPU) ||
      op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) ||
      op.hasKernelForDispatchKey(c10::DispatchKey::BackendSelect) ||
      !op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) {
    return BelowAutograd::kNever;
  }
  return op.hasKernelForDispatchKey(c10::DispatchKey::ADInplaceOrView) ? BelowAutograd::kView
                                                                       : BelowAutograd::kFunctional;
}

}  // namespace ltn
