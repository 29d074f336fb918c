#include "native/ops/guarded_backwards.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/DispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "native/compat.h"
#include "native/schema/op_table.h"

namespace ltn {
namespace {

// They read indices that the forward call has saved. A program can change those behind autograd's back, in the memory
// of a typed array or by setData, and the guards of calls from JavaScript do not see what the engine calls. Ops that
// some release does not have are skipped.
constexpr std::array kBackwards = {"_ctc_loss_backward",
                                   "_ctc_loss_backward.Tensor",
                                   "_embedding_bag_dense_backward",
                                   "_embedding_bag_per_sample_weights_backward",
                                   "_segment_reduce_backward",
                                   "adaptive_max_pool2d_backward",
                                   "adaptive_max_pool3d_backward",
                                   "embedding_dense_backward",
                                   "fractional_max_pool2d_backward",
                                   "fractional_max_pool3d_backward",
                                   "max_pool2d_with_indices_backward",
                                   "max_pool3d_with_indices_backward",
                                   "nll_loss2d_backward",
                                   "nll_loss_backward"};

// By the operators' names, which live in the dispatcher as long as it does. Filled once, before any op runs. Never
// destroyed: the engine's threads may outlive destructors.
using Checks = std::unordered_map<const c10::OperatorName*, BoxedCheck>;
Checks& checks() {
  static auto& all = *new Checks;
  return all;
}

void check_and_call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const auto count = static_cast<std::ptrdiff_t>(op.schema().arguments().size());
  const BoxedCheck check = checks().at(&op.operator_name());
  check(op, {stack->end() - count, stack->end()});
  constexpr c10::DispatchKeySet kAfter(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::BackendSelect);
  op.redispatchBoxed(keys & kAfter, stack);
}

bool is_backward(std::string_view name) {
  return std::find(kBackwards.begin(), kBackwards.end(), name) != kBackwards.end();
}

}  // namespace

void guard_backwards() {
  const compat::SilentWarnings silent;  // libtorch warns where another copy of the addon has done it
  // That key comes before those of the devices, and no such op has a kernel for it. Never destroyed, as in
  // replaced_kernels.cpp.
  static auto& library =
      *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::BackendSelect, __FILE__, 0);
  constexpr std::string_view kAten = "aten::";
  for (size_t i = 0; i < op_count; ++i) {
    const OpRow& row = *op_rows[i];
    const std::string_view name = std::string_view(row.name).substr(kAten.size());
    if (row.check == nullptr || !is_backward(name)) continue;
    const size_t dot = std::min(name.find('.'), name.size());
    const std::string overload(name.substr(std::min(dot + 1, name.size())));
    const auto op =
        c10::Dispatcher::singleton().findSchema({std::string(kAten) + std::string(name.substr(0, dot)), overload});
    if (!op.has_value()) continue;  // of another libtorch than the headers: the call from JavaScript reports it
    checks().emplace(&op->operator_name(), row.check);
    library.impl(row.name, torch::CppFunction::makeFromBoxedFunction<&check_and_call>());
  }
}

}  // namespace ltn
