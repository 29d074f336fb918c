/** Adam, in place: a step does not create lasting tensors. */
import type { Tensor } from 'libtorch-node';
import * as torch from 'libtorch-node';

const BETA1 = 0.9;
const BETA2 = 0.999;
const EPSILON = 1e-8;

export class Adam {
  readonly #means: Tensor[];
  readonly #squares: Tensor[];
  #steps = 0;

  constructor(
    readonly parameters: readonly Tensor[],
    readonly rate = 0.002,
  ) {
    this.#means = parameters.map((parameter) => torch.zeros(parameter.shape));
    this.#squares = parameters.map((parameter) => torch.zeros(parameter.shape));
  }

  /** Updates every parameter against its gradient, then resets the gradients. */
  step(): void {
    this.#steps++;
    const size = this.rate / (1 - BETA1 ** this.#steps);
    const correction = Math.sqrt(1 - BETA2 ** this.#steps);
    torch.noGrad(() => {
      for (const [i, parameter] of this.parameters.entries()) {
        const gradient = parameter.grad;
        if (gradient === null) continue;
        const mean = this.#means[i]!.mul_(BETA1).add_(gradient, { alpha: 1 - BETA1 });
        const square = this.#squares[i]!.mul_(BETA2).addcmul_(gradient, gradient, { value: 1 - BETA2 });
        parameter.addcdiv_(mean, square.sqrt().div_(correction).add_(EPSILON), { value: -size });
        parameter.grad = null;
      }
    });
  }

  dispose(): void {
    torch.disposeAll([this.#means, this.#squares]);
  }
}
