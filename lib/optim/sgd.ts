/** torch/optim/sgd.py. */
import { native } from '../addon/native';
import { refusal } from '../errors/errors';
import type { Tensor } from '../tensor/tensor';
import { rowsOf } from './at-once';
import { BuiltIn, decayed, isFused, orFused, towards } from './built-in';
import { acceptFused, type Due, fusedSgd } from './fused';
import type { Arguments, ParamGroup, Params } from './groups';
import type { SGDOptions } from './options';
import { keepsEmptyMomentum } from './release';
import { owned, type ParamState } from './state-dict';

/** Stochastic gradient descent, with momentum if asked for. Takes sparse gradients without momentum. */
export class SGD extends BuiltIn<SGDOptions> {
  constructor(params: Params<SGDOptions>, options?: SGDOptions);
  constructor(...passed: Arguments<SGDOptions>) {
    super('SGD', ...passed);
    const { nesterov, momentum, dampening } = this.defaults;
    if (nesterov && (momentum! <= 0 || dampening !== 0)) {
      const expected = 'false without a momentum or with a dampening';
      throw refusal(this._name(), 'nesterov', expected, `true with momentum ${momentum} and dampening ${dampening}`);
    }
  }

  override _modes(): readonly string[] {
    return orFused('differentiable');
  }

  override _accept(fn: string, parameter: Tensor, grad: Tensor, group: ParamGroup<SGDOptions>): void {
    if (isFused(group)) acceptFused(fn, parameter, grad);
  }

  protected override begin(): ParamState {
    return keepsEmptyMomentum ? { momentum_buffer: null } : {};
  }

  override _updateAll(due: readonly Due[], group: ParamGroup<SGDOptions>): boolean {
    if (!isFused(group) || this.update !== SGD.prototype.update) return false;
    const { lr, momentum, dampening, weightDecay, nesterov, maximize } = group;
    const numbers = { weight_decay: weightDecay!, momentum: momentum!, lr: lr!, dampening: dampening! };
    fusedSgd(this._name('step'), due, { ...numbers, nesterov: nesterov === true, maximize: maximize === true });
    return true;
  }

  override _stepAtOnce(group: ParamGroup<SGDOptions>): boolean {
    if (isFused(group) || group.differentiable || this.update !== SGD.prototype.update) return false;
    // The empty states are made by `begin`, which is not called for a disposed parameter.
    const isNew = (one: Tensor) => !this.state.has(one) && (one.disposed || one.grad !== null);
    if (keepsEmptyMomentum && group.params.some(isNew)) return false;
    const { lr, momentum, dampening, weightDecay, nesterov, maximize } = group;
    const { rows, count } = rowsOf(group.params, this.state, [momentum === 0 ? null : 'momentum_buffer']);
    return native.optimSgd(rows, count, lr!, momentum!, dampening!, weightDecay!, nesterov === true, maximize === true);
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
