/** torch/optim/rprop.py, asgd.py, sparse_adam.py. */
import { ops } from '../autograd/tuples';
import { refusal } from '../errors/errors';
import { Complex } from '../errors/values';
import type { Tensor } from '../tensor/tensor';
import { BuiltIn, decayed, nextStep, numberIn, real, roundingOf, scalar, towards, zerosLike } from './built-in';
import { pow } from './c-math';
import { asgdForeach, hasForeachAsgd, isForeach } from './foreach';
import type { Due } from './fused';
import type { Arguments, ParamGroup, Params } from './groups';
import { unfit } from './optimizer';
import type { ASGDOptions, RpropOptions, SparseAdamOptions } from './options';
import type { ParamState } from './state-dict';

/** Steps that depend on the signs of the gradients. */
export class Rprop extends BuiltIn<RpropOptions> {
  constructor(params: Params<RpropOptions>, options?: RpropOptions);
  constructor(...passed: Arguments<RpropOptions>) {
    super('Rprop', ...passed);
  }

  protected override begin(parameter: Tensor, { lr }: ParamGroup<RpropOptions>, grad: Tensor): ParamState {
    const first = parameter.isComplex() ? new Complex(lr!, lr!) : lr!;
    return { step: this._noSteps(), prev: zerosLike(parameter), step_size: grad.newFull([...grad.shape], first) };
  }

  protected override update(
    parameter: Tensor,
    gradient: Tensor,
    state: ParamState,
    { etas, stepSizes, maximize, differentiable }: ParamGroup<RpropOptions>,
  ): void {
    nextStep(state);
    const [shrink, enlarge] = etas!;
    const isComplex = parameter.isComplex();
    const previous = real(isComplex, state.prev);
    const sizes = real(isComplex, state.step_size);
    const grad = real(isComplex, towards(gradient, maximize)).clone() as Tensor;
    const before = differentiable ? (previous.clone() as Tensor) : previous;
    const sign = (grad.mul(before) as Tensor).sign() as Tensor;
    sign.maskedFill_(sign.gt(0) as Tensor, enlarge);
    sign.maskedFill_(sign.lt(0) as Tensor, shrink);
    sign.maskedFill_(sign.eq(0) as Tensor, 1);
    sizes.mul_(sign).clamp_(stepSizes![0], stepSizes![1]);
    grad.maskedFill_(sign.eq(shrink) as Tensor, 0);
    real(isComplex, parameter).addcmul_(grad.sign() as Tensor, sizes, { value: -1 });
    previous.copy_(grad);
  }
}

/** Stochastic gradient descent that also keeps an average of the parameters. */
export class ASGD extends BuiltIn<ASGDOptions> {
  constructor(params: Params<ASGDOptions>, options?: ASGDOptions);
  constructor(...passed: Arguments<ASGDOptions>) {
    super('ASGD', ...passed);
  }

  /** The rate for all parameters of the step in progress, if they do not use their own. */
  #commonRate: number | undefined;

  override _scalars(): readonly string[] {
    return ['step', 'eta', 'mu'];
  }

  protected override begin(parameter: Tensor, { lr }: ParamGroup<ASGDOptions>): ParamState {
    return { step: scalar(0), eta: scalar(lr!), mu: scalar(1), ax: zerosLike(parameter) };
  }

  protected override update(
    parameter: Tensor,
    gradient: Tensor,
    state: ParamState,
    group: ParamGroup<ASGDOptions>,
  ): void {
    const { lr, lambd, alpha, t0, weightDecay, maximize } = group;
    const round = roundingOf(group);
    const isComplex = parameter.isComplex();
    const target = real(isComplex, parameter);
    const average = real(isComplex, state.ax);
    const { eta, mu } = state as { eta: Tensor; mu: Tensor };
    const step = nextStep(state);
    const grad = decayed(real(isComplex, towards(gradient, maximize)), target, weightDecay!);
    if (hasForeachAsgd && isForeach(group)) {
      const tensors = { target, grad, average, eta, mu, step: state.step as Tensor };
      asgdForeach(tensors, { lr: lr!, lambd: lambd!, alpha: alpha!, t0: t0! }, group);
      return;
    }
    const rate = this.#commonRate ?? numberIn(eta);
    target.mul_(1 - lambd! * rate);
    target.add_(grad, { alpha: -rate });
    if (numberIn(mu) === 1) average.copy_(target);
    else average.add_((target.sub(average) as Tensor).mul(mu) as Tensor);
    const decay = round(1 + round(round(round(lambd!) * lr!) * step));
    eta.copy_(scalar(round(lr! / round(pow(decay, alpha!)))));
    mu.copy_(scalar(1 / Math.max(1, step - t0!)));
  }

  /** @internal `foreach` of 1.x takes the first parameter's rate for all, which matters once another was left out of a step. */
  override _updateAll([first]: readonly Due[], group: ParamGroup<ASGDOptions>): boolean {
    const isCommon = first !== undefined && !hasForeachAsgd && isForeach(group);
    this.#commonRate = isCommon ? numberIn(first.state.eta as Tensor) : undefined;
    return false;
  }
}

/** Adam for sparse gradients: only the averages of the rows that have a gradient change. */
export class SparseAdam extends BuiltIn<SparseAdamOptions> {
  constructor(params: Params<SparseAdamOptions>, options?: SparseAdamOptions);
  constructor(...passed: Arguments<SparseAdamOptions>) {
    super('SparseAdam', ...passed);
    for (const [g, group] of this.paramGroups.entries()) {
      const complex = group.params.find((parameter) => parameter.isComplex());
      if (complex !== undefined) throw refusal(this._name(), 'params', 'real parameters', complex.dtype);
      const sparse = group.params.findIndex((parameter) => parameter.isSparse);
      if (sparse < 0) continue;
      throw refusal(this._name(), `params[${sparse}]`, 'dense parameters', `a sparse one in group ${g}`);
    }
  }

  override _accept(fn: string, _parameter: Tensor, grad: Tensor): void {
    if (!grad.isSparse) throw unfit(fn, 'expected a sparse gradient, got a dense one: use Adam');
  }

  protected override begin(parameter: Tensor): ParamState {
    return { step: 0, exp_avg: zerosLike(parameter), exp_avg_sq: zerosLike(parameter) };
  }

  protected override update(
    parameter: Tensor,
    gradient: Tensor,
    state: ParamState,
    group: ParamGroup<SparseAdamOptions>,
  ): void {
    const { lr, betas, eps, maximize } = group;
    const round = roundingOf(group);
    const [beta1, beta2] = betas!;
    const step = nextStep(state);
    const grad = towards(gradient, maximize).coalesce();
    const indices = grad._indices();
    const values = grad._values();
    const sparse = (elements: Tensor) => ops().sparseCooTensor!(indices, elements, [...grad.shape]);
    const { exp_avg: average, exp_avg_sq: squares } = state as { exp_avg: Tensor; exp_avg_sq: Tensor };
    const oldAverage = average.sparseMask(grad)._values();
    const change = (values.sub(oldAverage) as Tensor).mul_(1 - beta1);
    average.add_(sparse(change));
    const oldSquares = squares.sparseMask(grad)._values();
    const changeOfSquares = (values.pow(2) as Tensor).sub_(oldSquares).mul_(1 - beta2);
    squares.add_(sparse(changeOfSquares));
    // sparse() shares the memory of its values, whose sum is made already.
    const numerator = change.add_(oldAverage);
    const denominator = changeOfSquares.add_(oldSquares).sqrt_().add_(eps!);
    const correction1 = 1 - pow(beta1, step);
    const correction2 = 1 - pow(beta2, step);
    const size = round(round(lr! * round(Math.sqrt(correction2))) / round(correction1));
    parameter.add_(sparse(numerator.div_(denominator).mul(-size) as Tensor));
  }
}
