/** Layers without the batch normalization after them, and layers without initial values. */
import { argumentError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { withoutInit } from '../filling';
import { Module } from '../module';
import { aten } from '../ops';
import { Parameter } from '../parameter';
import { fusedKeepsOptions } from '../release';

interface Weighted extends Module {
  weight: Tensor;
  bias: Tensor | null;
}

interface Normalizing extends Module {
  runningMean: Tensor | null;
  runningVar: Tensor | null;
  weight: Tensor | null;
  bias: Tensor | null;
  eps: number;
}

type Pair = [weight: Parameter, bias: Parameter];

function pair(weight: Tensor, bias: Tensor, likeWeight: Tensor, likeBias: Tensor | null): Pair {
  if (!fusedKeepsOptions) return [new Parameter(weight), new Parameter(bias)];
  const made = (tensor: Tensor, { dtype }: Tensor, requiresGrad: boolean) =>
    new Parameter(tensor.dtype === dtype ? tensor : (tensor.to(dtype as never) as Tensor), { requiresGrad });
  return [
    made(weight, likeWeight, likeWeight.requiresGrad),
    // A bias of zeros that Python adds requires no gradients.
    made(bias, likeBias ?? likeWeight, likeBias?.requiresGrad ?? false),
  ];
}

/** Without the check an argument's methods would be called, whatever it is. */
function demandTensors(fn: string, tensors: Record<string, unknown>, eps: unknown): void {
  for (const [name, value] of Object.entries(tensors)) {
    if (!isTensor(value)) throw argumentError(`nn.utils.${fn}`, name, 'a Tensor', value);
  }
  if (typeof eps !== 'number') throw argumentError(`nn.utils.${fn}`, 'bnEps', 'a number', eps);
}

function demandTranspose(fn: string, value: unknown): void {
  if (typeof value !== 'boolean') throw argumentError(`nn.utils.${fn}`, 'transpose', 'a boolean', value);
}

/** Those of tensors that may be missing. */
const given = (tensors: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(tensors).filter(([, value]) => value !== null && value !== undefined));

/** The weight and bias of a convolution that has the effect of a batch normalization in evaluation after it. */
export function fuseConvBnWeights(
  convW: Tensor,
  convB: Tensor | null,
  bnRm: Tensor,
  bnRv: Tensor,
  bnEps: number,
  bnW: Tensor | null,
  bnB: Tensor | null,
  transpose = false,
): Pair {
  demandTensors('fuseConvBnWeights', { convW, bnRm, bnRv, ...given({ convB, bnW, bnB }) }, bnEps);
  demandTranspose('fuseConvBnWeights', transpose);
  if (convW.ndim < 2) {
    throw argumentError('nn.utils.fuseConvBnWeights', 'convW', 'a Tensor of 2 or more dimensions', convW);
  }
  return ownScope(() => {
    const factor = bnW ?? (aten.onesLike(bnRm) as Tensor);
    const root = aten.rsqrt(bnRv.add(bnEps)) as Tensor;
    const shape = [...(transpose ? [1, -1] : [-1, 1]), ...new Array<number>(convW.ndim - 2).fill(1)];
    const weight = convW.mul((factor.mul(root) as Tensor).reshape(shape)) as Tensor;
    const shift = (convB ?? (aten.zerosLike(bnRm) as Tensor)).sub(bnRm) as Tensor;
    const bias = (shift.mul(root).mul(factor) as Tensor).add(bnB ?? aten.zerosLike(bnRm)) as Tensor;
    return pair(weight, bias, convW, convB);
  });
}

/** The weight and bias of a Linear that does what it and a following batch normalization do. */
export function fuseLinearBnWeights(
  linearW: Tensor,
  linearB: Tensor | null,
  bnRm: Tensor,
  bnRv: Tensor,
  bnEps: number,
  bnW: Tensor,
  bnB: Tensor,
): Pair {
  demandTensors('fuseLinearBnWeights', { linearW, bnRm, bnRv, bnW, bnB, ...given({ linearB }) }, bnEps);
  return ownScope(() => {
    const scale = bnW.mul(aten.rsqrt(bnRv.add(bnEps))) as Tensor;
    const weight = linearW.mul(scale.unsqueeze(-1)) as Tensor;
    const shift = (linearB ?? (aten.zerosLike(bnRm) as Tensor)).sub(bnRm) as Tensor;
    return pair(weight, (shift.mul(scale) as Tensor).add(bnB) as Tensor, linearW, linearB);
  });
}

function demandEval(fn: string, layer: unknown, bn: unknown): void {
  for (const [name, module] of Object.entries({ layer, bn })) {
    if (!(module instanceof Module) || module.training) {
      throw argumentError(`nn.utils.${fn}`, name, 'a Module in evaluation mode', module);
    }
  }
  if (!isTensor((layer as Weighted).weight)) {
    throw argumentError(`nn.utils.${fn}`, 'layer', 'a Module with a weight', layer);
  }
  const { runningMean, runningVar } = bn as Normalizing;
  if (!isTensor(runningMean) || !isTensor(runningVar)) {
    throw argumentError(`nn.utils.${fn}`, 'bn', 'a batch normalization with running statistics', bn);
  }
}

function fused<M extends Module>(layer: M, weights: (copy: Weighted) => Pair): M {
  const copy = layer.deepCopy() as M & Weighted;
  const { weight, bias } = copy;
  [copy.weight, copy.bias] = weights(copy);
  weight.dispose();
  bias?.dispose();
  return copy;
}

/** A copy of a convolution that has the effect of the batch normalization after it. Both are in evaluation mode. */
export function fuseConvBnEval<M extends Module>(conv: M, bn: Module, transpose = false): M {
  demandEval('fuseConvBnEval', conv, bn);
  demandTranspose('fuseConvBnEval', transpose);
  const { runningMean, runningVar, eps, weight, bias } = bn as Normalizing;
  return fused(conv, (copy) =>
    fuseConvBnWeights(copy.weight, copy.bias, runningMean!, runningVar!, eps, weight, bias, transpose),
  );
}

/** A copy of a Linear that does what it and a following batch normalization do, both in evaluation mode. */
export function fuseLinearBnEval<M extends Module>(linear: M, bn: Module): M {
  demandEval('fuseLinearBnEval', linear, bn);
  const { runningMean, runningVar, eps, weight, bias } = bn as Normalizing;
  if (weight === null || bias === null) {
    throw argumentError('nn.utils.fuseLinearBnEval', 'bn', 'a batch normalization with affine', bn);
  }
  return fused(linear, (copy) =>
    fuseLinearBnWeights(copy.weight, copy.bias, runningMean!, runningVar!, eps, weight, bias),
  );
}

/** A module of a class whose parameters have no initial values: `skipInit(torch.nn.Linear, 5, 1)`. */
export function skipInit<M extends Module>(moduleCls: new (...args: any[]) => M, ...args: any[]): M {
  if (typeof moduleCls !== 'function' || !(moduleCls.prototype instanceof Module)) {
    throw argumentError('nn.utils.skipInit', 'moduleCls', 'a class of Modules', moduleCls);
  }
  return withoutInit(() => new moduleCls(...args));
}
