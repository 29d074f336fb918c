#include "native/optim/fused.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace ltn::optim {
namespace {

bool has_fused_kernel(c10::ScalarType type) {
  return type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
}

// The kernel walks all tensors of a row in the order of the parameter's memory, and checks neither shapes nor strides.
bool is_alike(const at::Tensor& tensor, const at::Tensor& parameter) {
  return tensor.scalar_type() == parameter.scalar_type() && tensor.device() == parameter.device() &&
         tensor.sizes() == parameter.sizes() && tensor.strides() == parameter.strides() && !tensor.is_neg();
}

bool fits(const AdamRow& row, const AdamRow& first) {
  const at::Tensor& parameter = row.parameter;
  if (!parameter.device().is_cpu() || !parameter.is_non_overlapping_and_dense() || parameter.is_neg()) return false;
  if (parameter.scalar_type() != first.parameter.scalar_type() || row.largest.defined() != first.largest.defined()) {
    return false;
  }
  for (const auto* tensor : {&row.grad, &row.average, &row.squares}) {
    if (!is_alike(*tensor, parameter)) return false;
  }
  if (row.largest.defined() && !is_alike(row.largest, parameter)) return false;
  return row.step.device().is_cpu() && row.step.scalar_type() == at::kFloat && row.step.numel() == 1;
}

std::vector<at::Tensor> column(const std::vector<AdamRow>& rows, at::Tensor AdamRow::*part) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(rows.size());
  for (const AdamRow& row : rows) tensors.push_back(row.*part);
  return tensors;
}

}  // namespace

bool fused_step(const std::vector<AdamRow>& rows, const AdamOptions& options) {
  if (rows.empty()) return true;
  if (!has_fused_kernel(rows[0].parameter.scalar_type())) return false;
  for (const AdamRow& row : rows) {
    if (!fits(row, rows[0])) return false;
  }
  const bool is_amsgrad = rows[0].largest.defined();
  // By name: the headers of older releases do not declare it.
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(
      options.is_decoupled ? "aten::_fused_adamw_" : "aten::_fused_adam_", "");
  for (const AdamRow& row : rows) row.step.add_(1);
  std::vector<c10::IValue> stack;
  for (const auto part : {&AdamRow::parameter, &AdamRow::grad, &AdamRow::average, &AdamRow::squares}) {
    stack.emplace_back(column(rows, part));
  }
  stack.emplace_back(is_amsgrad ? column(rows, &AdamRow::largest) : std::vector<at::Tensor>());
  stack.emplace_back(column(rows, &AdamRow::step));
  for (const double number : {options.lr, options.beta1, options.beta2, options.weight_decay, options.eps}) {
    stack.emplace_back(number);
  }
  stack.emplace_back(is_amsgrad);
  stack.emplace_back(options.maximize);
  stack.emplace_back();  // grad_scale
  stack.emplace_back();  // found_inf
  op.callBoxed(&stack);
  return true;
}

}  // namespace ltn::optim
