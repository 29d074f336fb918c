/** torch/nn/functional.py: losses with margins. */

import { composed, define } from '../../call/define';
import { asCallback } from '../../lifetimes/user-code';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { aten, nn } from '../ops';
import { refuse } from '../support';
import { type Flag, reduced, reductionName, reductionOf } from './reduction';

/** Losses of input and target. */
const ofTwo = (fn: string) => (input: Tensor, target: Tensor, average: Flag, reduce: Flag, reduction: string) =>
  nn[fn]!(input, target, reductionOf(fn, average, reduce, reduction));

/** Losses of two inputs and a target. */
const ofPairs =
  (fn: string) =>
  (a: Tensor, b: Tensor, target: Tensor, margin: number, average: Flag, reduce: Flag, reduction: string) =>
    aten[fn]!(a, b, target, margin, reductionOf(fn, average, reduce, reduction));

function multilabelSoftMarginLoss(
  input: Tensor,
  target: Tensor,
  weight: Tensor | null,
  average: Flag,
  reduce: Flag,
  reduction: string,
): Tensor {
  if (input.ndim === 0) {
    throw refuse(
      'multilabelSoftMarginLoss',
      'input',
      'a Tensor of at least 1 dimension, its last one the classes',
      input,
    );
  }
  const positive = target.mul(nn.logsigmoid!(input));
  const negative = target.rsub(1).mul(nn.logsigmoid!(input.neg()));
  let loss = positive.add(negative).neg();
  if (weight !== null) loss = loss.mul(weight);
  const classes = input.ndim - 1;
  const mean = loss.sum([classes]).div(input.shape[classes]!);
  return reduced('multilabelSoftMarginLoss', mean, reductionName(average, reduce, reduction));
}

/** A function, also of a module: its forward. Undefined for another value. */
function functionOf(value: unknown): ((a: Tensor, b: Tensor) => unknown) | undefined {
  if (typeof value === 'function') return value as (a: Tensor, b: Tensor) => unknown;
  if (typeof value !== 'object' || value === null || isTensor(value)) return undefined;
  const forward = asCallback(() => (value as { forward?: unknown }).forward);
  return typeof forward === 'function' ? (a, b) => forward.call(value, a, b) : undefined;
}

function tripletMarginWithDistanceLoss(
  anchor: Tensor,
  positive: Tensor,
  negative: Tensor,
  distanceFunction: unknown,
  margin: number,
  swap: boolean,
  reduction: string,
): Tensor {
  const fn = 'tripletMarginWithDistanceLoss';
  const measure = distanceFunction === null ? aten.pairwiseDistance! : functionOf(distanceFunction);
  if (measure === undefined) {
    throw refuse(fn, 'distanceFunction', 'a Module or a function of two Tensors, or null', distanceFunction);
  }
  const distance = (a: Tensor, b: Tensor): Tensor => {
    const result = distanceFunction === null ? measure(a, b) : asCallback(() => measure(a, b));
    if (!isTensor(result)) throw refuse(fn, 'distanceFunction', 'a function that returns a Tensor', result);
    return result;
  };
  const near = distance(anchor, positive);
  let far = distance(anchor, negative);
  if (swap) far = far.minimum(distance(positive, negative));
  return reduced(fn, near.sub(far).add(margin).clamp({ min: 0 }), reduction);
}

define(['nn.functional'], {
  cosineEmbeddingLoss: ofPairs('cosineEmbeddingLoss'),
  hingeEmbeddingLoss: (input: Tensor, target: Tensor, margin: number, average: Flag, reduce: Flag, reduction: string) =>
    aten.hingeEmbeddingLoss!(input, target, margin, reductionOf('hingeEmbeddingLoss', average, reduce, reduction)),
  marginRankingLoss: (
    a: Tensor,
    b: Tensor,
    target: Tensor,
    margin: number,
    average: Flag,
    reduce: Flag,
    reduction: string,
  ) => {
    if (a.ndim !== b.ndim || a.ndim !== target.ndim) {
      throw refuse(
        'marginRankingLoss',
        'target',
        `inputs and target of as many dimensions (${a.ndim}, ${b.ndim})`,
        target,
      );
    }
    return ofPairs('marginRankingLoss')(a, b, target, margin, average, reduce, reduction);
  },
  multiMarginLoss: (
    input: Tensor,
    target: Tensor,
    p: number,
    margin: number,
    weight: Tensor | null,
    average: Flag,
    reduce: Flag,
    reduction: string,
  ) => {
    if (p !== 1 && p !== 2) throw refuse('multiMarginLoss', 'p', '1 or 2', p);
    if (weight !== null && weight.ndim !== 1) throw refuse('multiMarginLoss', 'weight', 'one dimension', weight);
    return nn.multiMarginLoss!(
      input,
      target,
      p,
      margin,
      weight,
      reductionOf('multiMarginLoss', average, reduce, reduction),
    );
  },
  multilabelMarginLoss: ofTwo('multilabelMarginLoss'),
  multilabelSoftMarginLoss: composed(multilabelSoftMarginLoss),
  softMarginLoss: ofTwo('softMarginLoss'),
  tripletMarginLoss: (
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: number,
    p: number,
    eps: number,
    swap: boolean,
    average: Flag,
    reduce: Flag,
    reduction: string,
  ) => {
    const number = reductionOf('tripletMarginLoss', average, reduce, reduction);
    return aten.tripletMarginLoss!(anchor, positive, negative, margin, p, eps, swap, number);
  },
  tripletMarginWithDistanceLoss: composed(tripletMarginWithDistanceLoss),
});
