/** torch/optim/adam.py and adamw.py. */
import { native } from '../addon/native';
import type { Tensor } from '../tensor/tensor';
import { rowsOf } from './at-once';
import {
  BuiltIn,
  decayed,
  hasRounding,
  isFused,
  nextStep,
  orFused,
  real,
  roundingOf,
  scalar,
  towards,
  zerosLike,
} from './built-in';
import { pow } from './c-math';
import { type Due, fusedAdam, hasFused } from './fused';
import type { Arguments, ParamGroup, Params } from './groups';
import { unfit } from './optimizer';
import type { AdamOptions } from './options';
import { approach, hasOneAdam, lerps, root, rootsByPow } from './release';
import type { ParamState } from './state-dict';

type Group = ParamGroup<AdamOptions>;

abstract class Moments extends BuiltIn<AdamOptions> {
  override _modes(): readonly string[] {
    return orFused('capturable', 'differentiable');
  }

  protected override begin(parameter: Tensor, group: Group): ParamState {
    const { amsgrad } = group;
    const { capturable } = this.defaults;
    return {
      step: stepOf(parameter, capturable === true, isFused(group)),
      exp_avg: zerosLike(parameter),
      exp_avg_sq: zerosLike(parameter),
      ...(amsgrad ? { max_exp_avg_sq: zerosLike(parameter) } : {}),
    };
  }

  protected override update(parameter: Tensor, gradient: Tensor, state: ParamState, group: Group): void {
    const { weightDecay, betas, amsgrad, maximize, capturable, differentiable } = group;
    const [beta1, beta2] = betas!;
    const round = roundingOf(group);
    let grad = towards(gradient, maximize);
    const { step } = state;
    if (capturable) {
      if (!parameter.isCuda || !(step as Tensor).isCuda) {
        const got = parameter.isCuda ? `a step count on '${step.device}'` : `parameters on '${parameter.device}'`;
        const expected = 'expected parameters on a CUDA device, since capturable is true';
        throw unfit(this._name('step'), `${expected}, got ${got}`);
      }
      (step as Tensor).add_(1);
    }
    const count = capturable ? 0 : nextStep(state);
    const isComplex = parameter.isComplex();
    const target = real(isComplex, parameter);
    if (!this._isDecoupled(group)) grad = decayed(grad, parameter, weightDecay!);
    else if (weightDecay !== 0) target.mul_(round(1 - round(group.lr! * round(weightDecay!))));
    grad = real(isComplex, grad);
    const average = real(isComplex, state.exp_avg);
    const squares = real(isComplex, state.exp_avg_sq);
    approach(average, grad, beta1);
    squares.mul_(beta2).addcmul_(grad, grad, { value: 1 - beta2 });
    if (capturable || differentiable) finishWithTensorStep(target, average, squares, state, group);
    else {
      const correction1 = 1 - pow(beta1, count);
      const correction2 = root(1 - pow(beta2, count));
      let second = squares;
      if (amsgrad) {
        second = real(isComplex, state.max_exp_avg_sq);
        second.maximum(squares, { out: second });
      }
      const denominator = (second.sqrt() as Tensor).div(correction2).add_(group.eps!);
      target.addcdiv_(average, denominator, { value: -round(group.lr! / round(correction1)) });
    }
  }

  override _updateAll(due: readonly Due[], group: Group): boolean {
    if (!isFused(group) || this.update !== Moments.prototype.update) return false;
    const { lr, eps, betas, weightDecay, amsgrad, maximize } = group;
    const [beta1, beta2] = betas!;
    const numbers = { lr: lr!, beta1, beta2, weight_decay: weightDecay!, eps: eps! };
    const options = { ...numbers, amsgrad: amsgrad === true, maximize: maximize === true };
    fusedAdam(this._name('step'), due, this._isDecoupled(group), options);
    return true;
  }

  override _stepAtOnce(group: Group): boolean {
    if (isFused(group) && !hasFused) return false;
    if (hasRounding(group)) return false;
    if (group.capturable || group.differentiable || this.update !== Moments.prototype.update) return false;
    const largest = group.amsgrad ? 'max_exp_avg_sq' : null;
    const { rows, count } = rowsOf(group.params, this.state, ['exp_avg', 'exp_avg_sq', largest, 'step']);
    const [beta1, beta2] = group.betas!;
    const { lr, eps, weightDecay, maximize } = group;
    const given = [rows, count, lr!, beta1, beta2, eps!, weightDecay!, this._isDecoupled(group)] as const;
    if (isFused(group)) return native.optimFusedAdam(...given, maximize === true);
    return native.optimAdam(...given, maximize === true, lerps, rootsByPow);
  }

  /** @internal Whether weight decay shrinks the parameter itself. */
  abstract _isDecoupled(group: Group): boolean;
}

/** The initial step count: with `capturable` and in fused steps on the parameter's device. */
function stepOf(parameter: Tensor, isCapturable: boolean, fused: boolean): Tensor {
  if (isCapturable) return parameter.newZeros([1], { dtype: 'float32' }) as Tensor;
  return fused ? (parameter.newZeros([], { dtype: 'float32' }) as Tensor) : scalar(0);
}

/** The end of a step with the number of steps as a tensor: for CUDA graphs, and for gradients through the step. */
function finishWithTensorStep(target: Tensor, average: Tensor, squares: Tensor, state: ParamState, group: Group): void {
  const { lr, eps, betas, amsgrad, differentiable } = group;
  const [correction1, correction2] = betas!.map(
    (beta) => scalar(beta).to(state.step.device).pow(state.step).neg().add(1) as Tensor,
  ) as [Tensor, Tensor];
  const negative = (correction1.reciprocal() as Tensor).mul(lr!).neg() as Tensor;
  const scale = (correction2.sqrt() as Tensor).mul(negative) as Tensor;
  let second = squares;
  if (amsgrad) {
    const largest = state.max_exp_avg_sq as Tensor;
    largest.copy_((differentiable ? (largest.clone() as Tensor) : largest).maximum(squares) as Tensor);
    second = largest;
  }
  const shift = (negative.reciprocal() as Tensor).mul(eps!) as Tensor;
  const denominator = ((second.sqrt() as Tensor).div(scale) as Tensor).add_(shift);
  target.addcdiv_(average, denominator);
}

/** Adam: steps scaled by averages of the gradient and of its square. */
export class Adam extends Moments {
  constructor(params: Params<AdamOptions>, options?: AdamOptions);
  constructor(...passed: Arguments<AdamOptions>) {
    super('Adam', ...passed);
  }

  override _isDecoupled(group: Group): boolean {
    return hasOneAdam && group.decoupledWeightDecay === true;
  }
}

/** Adam with weight decay that does not go through the averages. */
export class AdamW extends Moments {
  constructor(params: Params<AdamOptions>, options?: AdamOptions);
  constructor(...passed: Arguments<AdamOptions>) {
    super('AdamW', ...passed);
  }

  override _isDecoupled(group: Group): boolean {
    return !hasOneAdam || group.decoupledWeightDecay === true;
  }
}
