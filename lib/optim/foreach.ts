/**
 * The formulas of Python's `foreach: true` (`_multi_tensor_…` in torch/optim) where their results differ from those of its loop
 * over the parameters; other optimizers give the same bits either way. On the CPU the ops of lists are loops of the same ops, so
 * these are written for one parameter.
 */
import type { Tensor } from '../tensor/tensor';
import { hasRounding, numberIn, roundingOf, scalar } from './built-in';
import { pow } from './c-math';
import { approach, root, since } from './release';

const is2 = since(2, 0);

/** Whether a group asks for these formulas. Gradients cannot be recorded through them. */
export const isForeach = ({ foreach, differentiable }: { foreach?: unknown; differentiable?: unknown }): boolean =>
  foreach === true && differentiable !== true;

/** ASGD's formula differs from 2.x on. */
export const hasForeachAsgd = is2;
/** Adagrad's differed in 1.x if the learning rate decays. */
export const hasForeachAdagrad = !is2;

/** Adagrad of 2.x adds the decay to a complex gradient's two real parts; other formulas add complex numbers. */
export const decaysReal = (group: { foreach?: unknown; differentiable?: unknown }): boolean => is2 && isForeach(group);

export interface Moments {
  readonly target: Tensor;
  readonly grad: Tensor;
  readonly average: Tensor;
  readonly squares: Tensor;
  readonly step: number;
}

export interface MomentOptions {
  readonly lr: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
}

function moveAverages({ grad, average, squares }: Moments, { beta1, beta2 }: MomentOptions): void {
  approach(average, grad, beta1);
  squares.mul_(beta2).addcmul_(grad, grad, { value: 1 - beta2 });
}

/** NAdam. `product`: of the momentum factors; the next two of them are `mu` and `muNext`. */
export function nadamForeach(
  moments: Moments,
  options: MomentOptions,
  { product, mu, muNext }: { product: Tensor; mu: number; muNext: number },
): void {
  const { target, grad, average, squares, step } = moments;
  const { lr, beta2, eps } = options;
  moveAverages(moments, options);
  product.mul_(mu);
  const deviation = squares.sqrt() as Tensor;
  deviation.div_(root(1 - pow(beta2, step))).add_(eps);
  const of = numberIn(product);
  target.addcdiv_(grad, deviation, { value: -((lr * (1 - mu)) / (1 - of)) });
  target.addcdiv_(average, deviation, { value: -((lr * muNext) / (1 - of * muNext)) });
}

/** RAdam. 1.x does not add `eps`, so that a gradient that was always 0 makes the parameter NaN. */
export function radamForeach(moments: Moments, options: MomentOptions, group: object): void {
  const { target, average, squares, step } = moments;
  const { lr, beta1, beta2, eps } = options;
  moveAverages(moments, options);
  const correction1 = 1 - pow(beta1, step);
  const correction2 = 1 - pow(beta2, step);
  const rhoInf = 2 / (1 - beta2) - 1;
  const rho = rhoInf - (2 * step * pow(beta2, step)) / correction2;
  const rectified = rho > 5 ? root(((rho - 4) * (rho - 2) * rhoInf) / ((rhoInf - 4) * (rhoInf - 2) * rho)) : 0;
  const round = roundingOf(group);
  const rate = (factor: number) => -round(round(lr * round(factor)) / round(correction1));
  const unrectified = rate(rectified > 0 ? 0 : 1);
  const deviation = squares.sqrt() as Tensor;
  if (!is2) {
    target.addcdiv_(average, deviation.div(root(correction2)) as Tensor, { value: rate(rectified) });
    target.addcdiv_(average, average.onesLike() as Tensor, { value: unrectified });
    return;
  }
  const scale = round(round(root(correction2)) * -rate(rectified)) * -1;
  deviation.add_(eps).div_(scale).reciprocal_().add_(unrectified);
  target.addcmul_(average, deviation);
}

export interface AsgdState {
  readonly target: Tensor;
  readonly grad: Tensor;
  readonly average: Tensor;
  readonly eta: Tensor;
  readonly mu: Tensor;
  readonly step: Tensor;
}

export interface AsgdOptions {
  readonly lr: number;
  readonly lambd: number;
  readonly alpha: number;
  readonly t0: number;
}

/** ASGD of 2.x, after the step was counted. */
export function asgdForeach(state: AsgdState, { lr, lambd, alpha, t0 }: AsgdOptions, group: object): void {
  const { target, grad, average, eta, mu, step } = state;
  target.addcmul_(grad.add(target, { alpha: lambd }) as Tensor, eta, { value: -1 });
  average.addcmul_(target.sub(average) as Tensor, mu);
  const isTensorRate = hasRounding(group);
  const round = roundingOf(group);
  const decay = (step.mul(isTensorRate ? round(round(lambd) * lr) : lambd * lr) as Tensor).add(1).pow(alpha) as Tensor;
  eta.copy_((isTensorRate ? scalar(lr).div(decay) : (decay.reciprocal() as Tensor).mul(lr)) as Tensor);
  mu.copy_(scalar(1 / Math.max(1, numberIn(step) - t0)));
}

/** Adagrad of 1.x, after the step was counted. */
export function adagradForeach(
  { target, grad, sum, step }: { target: Tensor; grad: Tensor; sum: Tensor; step: Tensor },
  { lr, lrDecay, eps }: { lr: number; lrDecay: number; eps: number },
): void {
  const rate = (step.sub(1) as Tensor).mul(lrDecay).add(1).reciprocal().mul(-lr) as Tensor;
  sum.addcmul_(grad, grad, { value: 1 });
  const deviation = (sum.sqrt() as Tensor).add_(eps);
  target.add_((grad.mul(rate) as Tensor).div(deviation) as Tensor);
}
