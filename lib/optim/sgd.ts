/** torch/optim/sgd.py. */
import { refusal } from '../errors/errors';
import type { Tensor } from '../tensor/tensor';
import { BuiltIn, decayed, towards } from './built-in';
import type { ParamGroup, Params } from './groups';
import type { SGDOptions } from './options';
import { keepsEmptyMomentum } from './release';
import { owned, type ParamState } from './state-dict';

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
