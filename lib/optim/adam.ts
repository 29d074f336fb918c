/** torch/optim/adam.py and adamw.py. */
import { inferenceMode } from '../autograd/backward';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';
import { BuiltIn, decayed, nextStep, real, scalar, towards, zerosLike } from './built-in';
import { pow } from './c-math';
import type { ParamGroup, Params } from './groups';
import { type Due, unfit } from './optimizer';
import type { AdamOptions } from './options';
import { approach, approachEach, hasOneAdam, root } from './release';
import type { ParamState } from './state-dict';
import * as together from './together';
import { lists } from './together';

type Group = ParamGroup<AdamOptions>;

abstract class Moments extends BuiltIn<AdamOptions> {
  override _modes(): readonly string[] {
    return ['capturable', 'differentiable'];
  }

  protected override begin(parameter: Tensor, { amsgrad }: Group): ParamState {
    const { capturable } = this.defaults;
    return {
      step: capturable ? (parameter.newZeros([1], { dtype: 'float32' }) as Tensor) : scalar(0),
      exp_avg: zerosLike(parameter),
      exp_avg_sq: zerosLike(parameter),
      ...(amsgrad ? { max_exp_avg_sq: zerosLike(parameter) } : {}),
    };
  }

  protected override update(parameter: Tensor, gradient: Tensor, state: ParamState, group: Group): void {
    const { weightDecay, betas, amsgrad, maximize, capturable, differentiable } = group;
    const [beta1, beta2] = betas!;
    let grad = towards(gradient, maximize);
    const { step } = state;
    if (capturable) {
      if (!parameter.isCuda || !(step as Tensor).isCuda) {
        throw unfit(this._name('step'), 'expected parameters on a CUDA device, since capturable is true');
      }
      (step as Tensor).add_(1);
    }
    const count = capturable ? 0 : nextStep(state);
    const isComplex = parameter.isComplex();
    const target = real(isComplex, parameter);
    if (!this._isDecoupled(group)) grad = decayed(grad, parameter, weightDecay!);
    else if (weightDecay !== 0) target.mul_(1 - group.lr! * weightDecay!);
    grad = real(isComplex, grad);
    const average = real(isComplex, state.exp_avg);
    const squares = real(isComplex, state.exp_avg_sq);
    approach(average, grad, beta1);
    squares.mul_(beta2).addcmul_(grad, grad, { value: 1 - beta2 });
    if (capturable || differentiable) recorded(target, average, squares, state, group);
    else {
      const correction1 = 1 - pow(beta1, count);
      const correction2 = root(1 - pow(beta2, count));
      let second = squares;
      if (amsgrad) {
        second = real(isComplex, state.max_exp_avg_sq);
        second.maximum(squares, { out: second });
      }
      const denominator = (second.sqrt() as Tensor).div(correction2).add_(group.eps!);
      target.addcdiv_(average, denominator, { value: -(group.lr! / correction1) });
    }
  }

  override _updateAll(due: readonly Due[], group: Group): void {
    if (group.capturable || group.differentiable || group.amsgrad) {
      super._updateAll(due, group);
      return;
    }
    for (const list of lists(due)) {
      if (list.length === 1) super._updateAll(list, group);
      // Inference mode saves work per op that only gradients need; versions still count. No tensor made here is kept.
      else inferenceMode(() => ownScope(() => this.#updateTogether(list, group)));
    }
  }

  /** The formula of `update`, op for op, on lists. */
  #updateTogether(due: readonly Due[], group: Group): void {
    const { weightDecay, betas, eps, maximize } = group;
    const lr = group.lr!;
    const [beta1, beta2] = betas!;
    const parameters = due.map(({ parameter }) => parameter);
    const averages = due.map(({ state }) => state.exp_avg as Tensor);
    const squares = due.map(({ state }) => state.exp_avg_sq as Tensor);
    let grads = due.map(({ grad }) => grad);
    if (maximize) grads = together.neg(grads);
    const counts = due.map(({ state }) => nextStep(state));
    if (weightDecay !== 0) {
      if (this._isDecoupled(group)) together.mul_(parameters, 1 - lr * weightDecay!);
      else grads = together.addEach(grads, parameters, weightDecay!);
    }
    approachEach(averages, grads, beta1);
    together.mul_(squares, beta2);
    together.addcmul_(squares, grads, grads, 1 - beta2);
    const denominators = together.sqrt(squares);
    together.div_(
      denominators,
      counts.map((count) => root(1 - pow(beta2, count))),
    );
    together.add_(denominators, eps!);
    const sizes = counts.map((count) => -(lr / (1 - pow(beta1, count))));
    together.addcdiv_(parameters, averages, denominators, sizes);
  }

  /** @internal Whether weight decay shrinks the parameter itself. */
  abstract _isDecoupled(group: Group): boolean;
}

/** The end of a step with the number of steps as a tensor: for CUDA graphs, and for gradients through the step. */
function recorded(target: Tensor, average: Tensor, squares: Tensor, state: ParamState, group: Group): void {
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
  constructor(params: Params<AdamOptions>, options: AdamOptions = {}) {
    super('Adam', params, options);
  }

  override _isDecoupled(group: Group): boolean {
    return hasOneAdam && group.decoupledWeightDecay === true;
  }
}

/** Adam with weight decay that does not go through the averages. */
export class AdamW extends Moments {
  constructor(params: Params<AdamOptions>, options: AdamOptions = {}) {
    super('AdamW', params, options);
  }

  override _isDecoupled(group: Group): boolean {
    return !hasOneAdam || group.decoupledWeightDecay === true;
  }
}
