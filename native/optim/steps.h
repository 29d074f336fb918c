// Steps of optimizers for one dense parameter: the ATen ops of torch/optim's single-tensor formulas, in their order, so
// that the values are Python's to the bit. lib/optim has the same formulas for the cases that need more than this.
#pragma once

#include <ATen/core/Tensor.h>

namespace ltn::optim {

// What differs between releases of PyTorch. lib/optim/release.ts decides; no other place knows the releases.
struct Release {
  bool lerps;         // averages move by lerp_(), not by mul_().add_()
  bool roots_by_pow;  // square roots of numbers are `** 0.5`, not math.sqrt: the last bit may differ
};

struct AdamOptions {
  double lr, beta1, beta2, eps, weight_decay;
  bool is_decoupled;  // weight decay shrinks the parameter itself
  bool maximize;
  Release release;
};

struct SgdOptions {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
};

struct RmspropOptions {
  double lr, alpha, eps, weight_decay, momentum;
  bool maximize;
  Release release;
};

struct AdagradOptions {
  double lr, lr_decay, eps, weight_decay;
  bool maximize;
};

// A parameter, its gradient and its state; tensors that the formula does not need are undefined. Copies, so that none
// is freed during the step.
struct AdamRow {
  at::Tensor parameter, grad, average, squares, largest, step;
};
struct SgdRow {
  at::Tensor parameter, grad, buffer;
};
struct RmspropRow {
  at::Tensor parameter, grad, squares, buffer, average, step;
};
struct AdagradRow {
  at::Tensor parameter, grad, sum, step;
};

// Each runs with c10::InferenceMode on: gradients are not recorded, versions count. No tensor is kept.
// `largest`: the formula is amsgrad's.
void step(const AdamRow& row, const AdamOptions& options);
// `momentum` is not 0: there is a buffer.
void step(const SgdRow& row, const SgdOptions& options);
// `average`: the formula is the centered one. `momentum` is above 0: there is a buffer.
void step(const RmspropRow& row, const RmspropOptions& options);
void step(const AdagradRow& row, const AdagradOptions& options);

}  // namespace ltn::optim
