/** Weights that a pre-hook computes: weightNorm and spectralNorm. Python's torch/nn/utils/weight_norm.py, spectral_norm.py. */
import { inGradMode } from '../../autograd/mode';
import { argumentError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import type { Tensor } from '../../tensor/tensor';
import { type Args, float, int, orNull, read, text } from '../arguments';
import { ConvTranspose1d, ConvTranspose2d, ConvTranspose3d } from '../conv';
import type { Module } from '../module';
import { aten, F } from '../ops';
import { Parameter } from '../parameter';
import {
  addBuffer,
  addParameter,
  attach,
  demandParameter,
  detach,
  type Method,
  part,
  propertiesOf,
  taken,
} from './computed';
import { aModule } from './kinds';

/** The properties of a module that start with a name. */
const of = (module: Module, name: string, suffix: string) => propertiesOf(module)[part(name, suffix)]!;

function demandOther(fn: string, module: Module, name: string): void {
  if (!module._state.computed.has(name)) return;
  const expected = `a parameter of ${module.constructor.name} that is not computed already`;
  throw argumentError(`nn.utils.${fn}`, 'name', expected, name);
}

/** Python's dim of None is all dimensions. */
class WeightNorm implements Method {
  constructor(readonly dim: number) {}

  compute(module: Module, name: string): Tensor {
    return aten._weightNorm(of(module, name, 'v'), of(module, name, 'g'), this.dim);
  }
}

const weight = { module: aModule, name: text('weight'), dim: orNull(int(0)) };

/** Computes a parameter as `g * v / |v|`, with the parameters `…G` and `…V` in its place. `dim` null: one norm for all. */
export function weightNorm<M extends Module>(
  ...passed: Args<[module: M, name?: string, dim?: number | null], typeof weight>
): M {
  const { module, name, dim } = read('utils.weightNorm', weight, passed);
  demandOther('weightNorm', module, name);
  const given = demandParameter('weightNorm', module, name);
  const method = new WeightNorm(dim ?? -1);
  ownScope(() => {
    const g = new Parameter(aten.normExceptDim(given.detach(), 2, method.dim) as Tensor);
    const v = new Parameter(given as Tensor);
    taken(module, name);
    addParameter(module, name, 'g', g);
    addParameter(module, name, 'v', v);
    attach(module, name, method, method.compute(module, name));
  });
  return module as M;
}

function methodOf<T extends Method>(
  fn: string,
  module: Module,
  name: string,
  cls: abstract new (...args: any[]) => T,
): T {
  const method = module._state.computed.get(name)?.method;
  if (method instanceof cls) return method;
  const expected = `a parameter of ${module.constructor.name} with ${fn.replace('remove', '')}`;
  throw argumentError(`nn.utils.${fn}`, 'name', expected, name);
}

const removal = { module: aModule, name: text('weight') };

/** Makes the computed weight a parameter again. */
export function removeWeightNorm<M extends Module>(...passed: Args<[module: M, name?: string], typeof removal>): M {
  const { module, name } = read('utils.removeWeightNorm', removal, passed);
  const method = methodOf('removeWeightNorm', module, name, WeightNorm);
  ownScope(() => {
    const after = new Parameter(inGradMode(false, () => method.compute(module, name)));
    detach(module, name);
    for (const suffix of ['g', 'v']) taken(module, part(name, suffix));
    module.registerParameter(name, after);
  });
  return module as M;
}

/** The weight as a matrix whose first dimension is `dim`. */
export function asMatrix(tensor: Tensor, dim: number): Tensor {
  const others = tensor.shape.map((_, i) => i).filter((i) => i !== dim);
  const turned = dim === 0 ? tensor : (tensor.permute([dim, ...others]) as Tensor);
  return turned.reshape([turned.shape[0]!, -1]) as Tensor;
}

/** A vector of norm 1; into `out` if there is one. */
export const unit = (vector: Tensor, eps: number, out: Tensor | null = null): Tensor =>
  F.normalize(vector, { dim: 0, eps, ...(out === null ? {} : { out }) });

export const randomUnit = (like: Tensor, size: number, eps: number): Tensor =>
  unit((like.newEmpty([size]) as Tensor).normal_(0, 1) as Tensor, eps);

class SpectralNorm implements Method {
  constructor(
    readonly iterations: number,
    readonly dim: number,
    readonly eps: number,
  ) {}

  compute(module: Module, name: string): Tensor {
    return this.result(module, name, module.training);
  }

  result(module: Module, name: string, iterates: boolean): Tensor {
    const orig = of(module, name, 'orig');
    let u = of(module, name, 'u');
    let v = of(module, name, 'v');
    const matrix = asMatrix(orig, this.dim);
    if (iterates) {
      inGradMode(false, () => {
        for (let i = 0; i < this.iterations; i++) {
          unit(matrix.t().mv(u) as Tensor, this.eps, v);
          unit(matrix.mv(v) as Tensor, this.eps, u);
        }
        // The next forward changes the buffers, and backward needs these values.
        u = u.clone() as Tensor;
        v = v.clone() as Tensor;
      });
    }
    return orig.div(u.dot(matrix.mv(v) as Tensor) as Tensor) as Tensor;
  }
}

const spectral = {
  module: aModule,
  name: text('weight'),
  nPowerIterations: int(1),
  eps: float(1e-12),
  dim: orNull(int()),
};
export type SpectralArgs<M> = Args<
  [module: M, name?: string, nPowerIterations?: number, eps?: number, dim?: number | null],
  typeof spectral
>;

/** The dimension of the outputs. */
const outputDim = (module: Module): number =>
  [ConvTranspose1d, ConvTranspose2d, ConvTranspose3d].some((cls) => module instanceof cls) ? 1 : 0;

export function spectralArguments(fn: string, passed: readonly unknown[]) {
  const given = read(`utils.${fn}`, spectral, passed);
  if (given.nPowerIterations < 1) {
    throw argumentError(`nn.utils.${fn}`, 'nPowerIterations', 'an integer of 1 or more', given.nPowerIterations);
  }
  return { ...given, dim: given.dim ?? outputDim(given.module) };
}

/** Divides a parameter by its largest singular value, which power iterations estimate, before each forward. */
export function spectralNorm<M extends Module>(...passed: SpectralArgs<M>): M {
  const { module, name, nPowerIterations, eps, dim } = spectralArguments('spectralNorm', passed);
  demandOther('spectralNorm', module, name);
  const given = demandParameter('spectralNorm', module, name);
  if (dim < 0 || dim >= given.ndim) {
    throw argumentError('nn.utils.spectralNorm', 'dim', `from 0 to ${given.ndim - 1}`, dim);
  }
  ownScope(() => {
    const plain = given.detach() as Tensor;
    const [height, width] = asMatrix(plain, dim).shape as [number, number];
    const u = randomUnit(plain, height, eps);
    const v = randomUnit(plain, width, eps);
    taken(module, name);
    addParameter(module, name, 'orig', given);
    addBuffer(module, name, 'u', u);
    addBuffer(module, name, 'v', v);
    attach(module, name, new SpectralNorm(nPowerIterations, dim, eps), plain);
  });
  return module as M;
}

/** Makes the computed weight a parameter again. */
export function removeSpectralNorm<M extends Module>(...passed: Args<[module: M, name?: string], typeof removal>): M {
  const { module, name } = read('utils.removeSpectralNorm', removal, passed);
  const method = methodOf('removeSpectralNorm', module, name, SpectralNorm);
  ownScope(() => {
    const after = new Parameter(inGradMode(false, () => method.result(module, name, false)));
    detach(module, name);
    for (const suffix of ['u', 'v', 'orig']) taken(module, part(name, suffix));
    module.registerParameter(name, after);
  });
  return module as M;
}
