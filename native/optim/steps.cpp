#include "native/optim/steps.h"

#include <ATen/ops/add.h>
#include <ATen/ops/addcdiv.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/view_as_real.h>

#include <cmath>

namespace ltn::optim {
namespace {

// Complex tensors as real ones with two numbers per element, as torch/optim has them.
at::Tensor real(bool is_complex, const at::Tensor& tensor) { return is_complex ? at::view_as_real(tensor) : tensor; }

at::Tensor towards(const at::Tensor& grad, bool maximize) { return maximize ? grad.neg() : grad; }

at::Tensor decayed(const at::Tensor& grad, const at::Tensor& parameter, double weight_decay) {
  return weight_decay == 0 ? grad : grad.add(parameter, weight_decay);
}

void approach(at::Tensor& average, const at::Tensor& grad, double beta, Release release) {
  if (release.lerps) {
    average.lerp_(grad, 1 - beta);
  } else {
    average.mul_(beta).add_(grad, 1 - beta);
  }
}

double root(double value, Release release) { return release.roots_by_pow ? std::pow(value, 0.5) : std::sqrt(value); }

// Counts a step and returns its number. A float on the CPU, which a counter nearly always is, is counted in place: the
// sum is that of add_(1), and two ops per parameter are a fifth of the time of a step.
double counted(const at::Tensor& step) {
  if (step.is_cpu() && step.scalar_type() == at::kFloat && step.numel() == 1) {
    float& count = *static_cast<float*>(step.data_ptr());
    count += 1;
    step.unsafeGetTensorImpl()->bump_version();
    return count;
  }
  step.add_(1);
  return step.item().toDouble();
}

}  // namespace

void step(const AdamRow& row, const AdamOptions& options) {
  const bool is_complex = row.parameter.is_complex();
  at::Tensor grad = towards(row.grad, options.maximize);
  const double count = counted(row.step);
  at::Tensor target = real(is_complex, row.parameter);
  if (!options.is_decoupled) {
    grad = decayed(grad, row.parameter, options.weight_decay);
  } else if (options.weight_decay != 0) {
    target.mul_(1 - options.lr * options.weight_decay);
  }
  grad = real(is_complex, grad);
  at::Tensor average = real(is_complex, row.average);
  at::Tensor squares = real(is_complex, row.squares);
  approach(average, grad, options.beta1, options.release);
  squares.mul_(options.beta2).addcmul_(grad, grad, 1 - options.beta2);
  const double correction1 = 1 - std::pow(options.beta1, count);
  const double correction2 = root(1 - std::pow(options.beta2, count), options.release);
  at::Tensor second = squares;
  if (row.largest.defined()) {
    second = real(is_complex, row.largest);
    at::maximum_out(second, second, squares);
  }
  // div_ where Python has `/`: the root is not needed any more.
  const at::Tensor denominator = second.sqrt().div_(correction2).add_(options.eps);
  target.addcdiv_(average, denominator, -(options.lr / correction1));
}

void step(const SgdRow& row, const SgdOptions& options) {
  at::Tensor grad = decayed(towards(row.grad, options.maximize), row.parameter, options.weight_decay);
  if (options.momentum != 0) {
    at::Tensor buffer = row.buffer;
    buffer.mul_(options.momentum).add_(grad, 1 - options.dampening);
    grad = options.nesterov ? grad.add(buffer, options.momentum) : buffer;
  }
  at::Tensor target = row.parameter;
  target.add_(grad, -options.lr);
}

void step(const RmspropRow& row, const RmspropOptions& options) {
  if (row.step.defined()) counted(row.step);
  const bool is_complex = row.parameter.is_complex();
  at::Tensor target = real(is_complex, row.parameter);
  const at::Tensor grad =
      real(is_complex, decayed(towards(row.grad, options.maximize), row.parameter, options.weight_decay));
  at::Tensor squares = real(is_complex, row.squares);
  squares.mul_(options.alpha).addcmul_(grad, grad, 1 - options.alpha);
  at::Tensor deviation;
  if (row.average.defined()) {
    at::Tensor average = real(is_complex, row.average);
    approach(average, grad, options.alpha, options.release);
    deviation = squares.addcmul(average, average, -1).sqrt_();
  } else {
    deviation = squares.sqrt();
  }
  deviation.add_(options.eps);
  if (options.momentum > 0) {
    at::Tensor buffer = real(is_complex, row.buffer);
    buffer.mul_(options.momentum).addcdiv_(grad, deviation);
    target.add_(buffer, -options.lr);
  } else {
    target.addcdiv_(grad, deviation, -options.lr);
  }
}

void step(const AdagradRow& row, const AdagradOptions& options) {
  const double count = counted(row.step);
  const bool is_complex = row.parameter.is_complex();
  const at::Tensor grad =
      real(is_complex, decayed(towards(row.grad, options.maximize), row.parameter, options.weight_decay));
  const double rate = options.lr / (1 + (count - 1) * options.lr_decay);
  at::Tensor sum = real(is_complex, row.sum);
  sum.addcmul_(grad, grad, 1);
  at::Tensor target = real(is_complex, row.parameter);
  target.addcdiv_(grad, sum.sqrt().add_(options.eps), -rate);
}

}  // namespace ltn::optim
