/** torch/optim/adagrad.py, adadelta.py, rmsprop.py: steps scaled by squares of the gradients. */
import { native } from '../addon/native';
import { inGradMode } from '../autograd/mode';
import { ops } from '../autograd/tuples';
import { Complex } from '../errors/values';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';
import { rowsOf } from './at-once';
import {
  BuiltIn,
  decayed,
  hasRounding,
  isFused,
  nextStep,
  orFused,
  plus,
  real,
  roundingOf,
  scalar,
  towards,
  zerosLike,
} from './built-in';
import { adagradForeach, decaysReal, hasForeachAdagrad, isForeach } from './foreach';
import { acceptFused, type Due, fusedAdagrad } from './fused';
import type { Arguments, ParamGroup, Params } from './groups';
import { unfit } from './optimizer';
import type { AdadeltaOptions, AdagradOptions, RMSpropOptions } from './options';
import { approach, countsInTensor, lerps, rootsByPow } from './release';
import { owned, type ParamState } from './state-dict';

/** Steps that shrink with the sum of all squares so far. Takes sparse gradients. */
export class Adagrad extends BuiltIn<AdagradOptions> {
  constructor(params: Params<AdagradOptions>, options?: AdagradOptions);
  constructor(...passed: Arguments<AdagradOptions>) {
    super('Adagrad', ...passed);
    inGradMode(false, () => {
      for (const group of this.paramGroups) for (const parameter of group.params) this.#start(parameter, group);
    });
  }

  #start(parameter: Tensor, group: ParamGroup<AdagradOptions>): void {
    ownScope(() => {
      const { step, sum } = this.begin(parameter, group) as { step: Tensor; sum: Tensor };
      this.state.set(parameter, { step: owned(step), sum: owned(sum) });
    });
  }

  override _modes(): readonly string[] {
    return orFused('differentiable');
  }

  override _accept(fn: string, parameter: Tensor, grad: Tensor, group: ParamGroup<AdagradOptions>): void {
    if (isFused(group)) acceptFused(fn, parameter, grad);
    if (grad.isSparse && group.weightDecay !== 0) throw unfit(fn, 'expected weightDecay 0 with a sparse gradient');
  }

  protected override begin(parameter: Tensor, _group: ParamGroup<AdagradOptions>): ParamState {
    const value = this.defaults.initialAccumulatorValue!;
    const first = parameter.isComplex() ? new Complex(value, value) : value;
    return { step: scalar(0), sum: parameter.fullLike(first) };
  }

  protected override update(
    parameter: Tensor,
    gradient: Tensor,
    state: ParamState,
    group: ParamGroup<AdagradOptions>,
  ): void {
    const { lr, lrDecay, weightDecay, eps, maximize, differentiable } = group;
    const round = roundingOf(group);
    const step = nextStep(state);
    const rate = round(lr! / round(1 + (step - 1) * lrDecay!));
    if (gradient.isSparse) {
      this.#updateSparse(parameter, towards(gradient, maximize), state.sum, rate, eps!);
      return;
    }
    const isComplex = parameter.isComplex();
    const target = real(isComplex, parameter);
    const plain = decaysReal(group)
      ? decayed(real(isComplex, towards(gradient, maximize)), target, weightDecay!)
      : real(isComplex, decayed(towards(gradient, maximize), parameter, weightDecay!));
    const sum = real(isComplex, state.sum);
    if (hasForeachAdagrad && isForeach(group)) {
      const tensors = { target, grad: plain, sum, step: state.step as Tensor };
      adagradForeach(tensors, { lr: lr!, lrDecay: lrDecay!, eps: eps! });
      return;
    }
    sum.addcmul_(plain, plain, { value: 1 });
    target.addcdiv_(plain, plus(sum.sqrt() as Tensor, eps!, differentiable), { value: -rate });
  }

  override _updateAll(due: readonly Due[], group: ParamGroup<AdagradOptions>): boolean {
    if (!isFused(group) || this.update !== Adagrad.prototype.update) return false;
    const { lr, lrDecay, weightDecay, eps, maximize } = group;
    const numbers = { lr: lr!, lr_decay: lrDecay!, weight_decay: weightDecay!, eps: eps! };
    fusedAdagrad(this._name('step'), due, { ...numbers, maximize: maximize === true });
    return true;
  }

  override _stepAtOnce(group: ParamGroup<AdagradOptions>): boolean {
    if (isFused(group) || group.differentiable || hasRounding(group) || this.update !== Adagrad.prototype.update)
      return false;
    const isComplex = (parameter: Tensor) => !parameter.disposed && parameter.isComplex();
    if (isForeach(group) && (hasForeachAdagrad || group.params.some(isComplex))) return false;
    const { rows, count } = rowsOf(group.params, this.state, ['sum', 'step']);
    const { lr, lrDecay, eps, weightDecay, maximize } = group;
    return native.optimAdagrad(rows, count, lr!, lrDecay!, eps!, weightDecay!, maximize === true);
  }

  #updateSparse(parameter: Tensor, gradient: Tensor, sum: Tensor, rate: number, eps: number): void {
    const grad = gradient.coalesce();
    const indices = grad._indices();
    const values = grad._values();
    if (indices.numel === 0 || values.numel === 0) return;
    const sparse = (elements: Tensor) => ops().sparseCooTensor!(indices, elements, [...grad.shape]);
    sum.add_(sparse(values.pow(2) as Tensor));
    const deviation = sum.sparseMask(grad)._values().sqrt_().add_(eps);
    parameter.add_(sparse(values.div(deviation) as Tensor), { alpha: -rate });
  }
}

/** Steps scaled by the ratio of the last changes and the last gradients. */
export class Adadelta extends BuiltIn<AdadeltaOptions> {
  constructor(params: Params<AdadeltaOptions>, options?: AdadeltaOptions);
  constructor(...passed: Arguments<AdadeltaOptions>) {
    super('Adadelta', ...passed);
  }

  protected override begin(parameter: Tensor): ParamState {
    return { step: this._noSteps(), square_avg: zerosLike(parameter), acc_delta: zerosLike(parameter) };
  }

  protected override update(
    parameter: Tensor,
    gradient: Tensor,
    state: ParamState,
    { lr, rho, eps, weightDecay, maximize, differentiable }: ParamGroup<AdadeltaOptions>,
  ): void {
    nextStep(state);
    const isComplex = parameter.isComplex();
    const grad = real(isComplex, decayed(towards(gradient, maximize), parameter, weightDecay!));
    const squares = real(isComplex, state.square_avg);
    const changes = real(isComplex, state.acc_delta);
    squares.mul_(rho!).addcmul_(grad, grad, { value: 1 - rho! });
    const deviation = (squares.add(eps!) as Tensor).sqrt_();
    const root = (changes.add(eps!) as Tensor).sqrt_();
    const delta = (differentiable ? (root.clone() as Tensor) : root).div_(deviation).mul_(grad);
    changes.mul_(rho!).addcmul_(delta, delta, { value: 1 - rho! });
    parameter.add_(isComplex ? delta.viewAsComplex() : delta, { alpha: -lr! });
  }
}

/** Steps divided by the root of an average of squares. */
export class RMSprop extends BuiltIn<RMSpropOptions> {
  constructor(params: Params<RMSpropOptions>, options?: RMSpropOptions);
  constructor(...passed: Arguments<RMSpropOptions>) {
    super('RMSprop', ...passed);
  }

  protected override begin(parameter: Tensor, { momentum, centered }: ParamGroup<RMSpropOptions>): ParamState {
    return {
      step: this._noSteps(),
      square_avg: zerosLike(parameter),
      ...(momentum! > 0 ? { momentum_buffer: zerosLike(parameter) } : {}),
      ...(centered ? { grad_avg: zerosLike(parameter) } : {}),
    };
  }

  override _stepAtOnce(group: ParamGroup<RMSpropOptions>): boolean {
    // Steps that are numbers are counted by `update`.
    if (group.differentiable || !countsInTensor('RMSprop') || this.update !== RMSprop.prototype.update) return false;
    const { lr, alpha, eps, weightDecay, momentum, centered, maximize } = group;
    const keys = ['square_avg', momentum! > 0 ? 'momentum_buffer' : null, centered ? 'grad_avg' : null, 'step'];
    const { rows, count } = rowsOf(group.params, this.state, keys);
    return native.optimRmsprop(
      rows,
      count,
      lr!,
      alpha!,
      eps!,
      weightDecay!,
      momentum!,
      maximize === true,
      lerps,
      rootsByPow,
    );
  }

  protected override update(
    parameter: Tensor,
    gradient: Tensor,
    state: ParamState,
    { lr, alpha, eps, weightDecay, momentum, centered, maximize, differentiable }: ParamGroup<RMSpropOptions>,
  ): void {
    nextStep(state);
    const isComplex = parameter.isComplex();
    const target = real(isComplex, parameter);
    const grad = real(isComplex, decayed(towards(gradient, maximize), parameter, weightDecay!));
    const squares = real(isComplex, state.square_avg);
    squares.mul_(alpha!).addcmul_(grad, grad, { value: 1 - alpha! });
    let deviation: Tensor;
    if (centered) {
      const average = real(isComplex, state.grad_avg);
      approach(average, grad, alpha!);
      deviation = (squares.addcmul(average, average, { value: -1 }) as Tensor).sqrt_();
    } else {
      deviation = squares.sqrt() as Tensor;
    }
    deviation = plus(deviation, eps!, differentiable);
    if (momentum! > 0) {
      const buffer = real(isComplex, state.momentum_buffer);
      buffer.mul_(momentum!).addcdiv_(grad, deviation);
      target.add_(buffer, { alpha: -lr! });
    } else {
      target.addcdiv_(grad, deviation, { value: -lr! });
    }
  }
}
