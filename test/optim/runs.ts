/** Runs of optimizers, the same as in oracle.py. */
import { torch, untyped } from '../support/torch';
import type { Input } from './inputs';
import { optionsOf } from './oracle';

export const STEPS = 100;
const SHAPES = [[4, 3], [7], [20]];

export function start({ dtype = 'float32', shapes = SHAPES }: Input): any[] {
  torch.manualSeed(1);
  return shapes.map((shape) => untyped.randn(shape, { dtype }).requiresGrad_());
}

/** What the optimizer changes: of differentiable steps, tensors that are computed from the leaves. */
export const paramsOf = ({ options }: Input, leaves: any[]): any[] =>
  options.differentiable === true ? leaves.map((leaf) => leaf.clone()) : leaves;

export function make(input: Input, params: any[]): any {
  const given = input.groups ? [{ params: params.slice(0, 1) }, { params: params.slice(1), lr: 0.05 }] : params;
  return new untyped.optim[input.name](given, optionsOf(input.options));
}

function gradient({ sparse }: Input, param: any, step: number, i: number): any {
  torch.manualSeed(1000 * step + i);
  if (!sparse) return untyped.randn(param.shape, { dtype: param.dtype });
  const indices = torch.randint(0, param.shape[0], [1, 5]);
  const values = untyped.randn([5, ...param.shape.slice(1)], { dtype: param.dtype });
  return torch.sparseCooTensor(indices, values, param.shape);
}

export function advance(input: Input, params: any[], optimizer: any, begin: number, end: number): void {
  const isSmooth = input.name === 'LBFGS';
  for (let step = begin; step < end; step++) {
    torch.scope(() => {
      if (input.closure) {
        optimizer.step(() => {
          optimizer.zeroGrad();
          const loss = params
            .map((p, i) => {
              const apart = p.select(0, 0).mul(p.select(0, 1)).abs();
              const term = p
                .abs()
                .sub(0.3 * (i + 1))
                .pow(2)
                .sum();
              return term.add((isSmooth ? apart.pow(2).mul(0.1) : apart).sum());
            })
            .reduce((sum, term) => sum.add(term), torch.tensor(0, { dtype: 'int64' }));
          loss.backward();
          return loss;
        });
        return;
      }
      for (const [i, param] of params.entries()) {
        param.grad = i === 1 && step % 7 === 3 ? null : gradient(input, param, step, i);
      }
      optimizer.step();
    });
  }
}
