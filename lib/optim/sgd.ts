/** torch/optim/sgd.py. */
import { inferenceMode } from '../autograd/backward';
import { refusal } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { isTensor, type Tensor } from '../tensor/tensor';
import { BuiltIn, decayed, towards } from './built-in';
import type { ParamGroup, Params } from './groups';
import type { Due } from './optimizer';
import type { SGDOptions } from './options';
import { keepsEmptyMomentum } from './release';
import { owned, type ParamState } from './state-dict';
import * as together from './together';
import { lists } from './together';

/** Stochastic gradient descent, with momentum if asked for. Takes sparse gradients without momentum. */
export class SGD extends BuiltIn<SGDOptions> {
  constructor(params: Params<SGDOptions>, options: SGDOptions = {}) {
    super('SGD', params, options);
    const { nesterov, momentum, dampening } = this.defaults;
    if (nesterov && (momentum! <= 0 || dampening !== 0)) {
      const expected = 'false without a momentum or with a dampening';
      throw refusal(this._name(), 'nesterov', expected, `true with momentum ${momentum} and dampening ${dampening}`);
    }
  }

  override _modes(): readonly string[] {
    return ['differentiable'];
  }

  override _accept(): void {}

  protected override begin(): ParamState {
    return keepsEmptyMomentum ? { momentum_buffer: null } : {};
  }

  override _updateAll(due: readonly Due[], group: ParamGroup<SGDOptions>): void {
    if (group.differentiable) {
      super._updateAll(due, group);
      return;
    }
    // A first momentum is a tensor that is kept, and lists are for dense gradients.
    const isReady = ({ grad, state }: Due) =>
      !grad.isSparse && (group.momentum === 0 || isTensor(state.momentum_buffer));
    const ready = due.filter(isReady);
    if (ready.length < due.length) {
      super._updateAll(
        due.filter((one) => !isReady(one)),
        group,
      );
    }
    for (const list of lists(ready)) {
      if (list.length === 1) super._updateAll(list, group);
      // Inference mode saves work per op that only gradients need; versions still count. No tensor made here is kept.
      else inferenceMode(() => ownScope(() => updateTogether(list, group)));
    }
  }

  protected override update(
    parameter: Tensor,
    gradient: Tensor,
    state: ParamState,
    { lr, momentum, dampening, weightDecay, nesterov, maximize }: ParamGroup<SGDOptions>,
  ): void {
    let grad = decayed(towards(gradient, maximize), parameter, weightDecay!);
    if (momentum !== 0) {
      let buffer = state.momentum_buffer as Tensor | null | undefined;
      if (buffer === null || buffer === undefined) {
        buffer = owned((grad.clone() as Tensor).detach() as Tensor);
        state.momentum_buffer = buffer;
      } else {
        buffer.mul_(momentum!).add_(grad, { alpha: 1 - dampening! });
      }
      grad = nesterov ? (grad.add(buffer, { alpha: momentum! }) as Tensor) : buffer;
    }
    parameter.add_(grad, { alpha: -lr! });
  }
}

/** The formula of `update`, op for op, on lists. */
function updateTogether(due: readonly Due[], group: ParamGroup<SGDOptions>): void {
  const { momentum, weightDecay, nesterov, maximize } = group;
  const parameters = due.map(({ parameter }) => parameter);
  let grads = due.map(({ grad }) => grad);
  if (maximize) grads = together.neg(grads);
  if (weightDecay !== 0) grads = together.addEach(grads, parameters, weightDecay!);
  if (momentum !== 0) {
    const buffers = due.map(({ state }) => state.momentum_buffer as Tensor);
    together.mul_(buffers, momentum!);
    together.addEach_(buffers, grads, 1 - group.dampening!);
    grads = nesterov ? together.addEach(grads, buffers, momentum!) : buffers;
  }
  together.addEach_(parameters, grads, -group.lr!);
}
