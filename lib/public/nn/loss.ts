/** torch/nn/functional.py: losses. */
import { noGrad } from '../../autograd/backward';
import { composed, define } from '../../call/define';
import { since } from '../../optim/release';
import type { Tensor } from '../../tensor/tensor';
import { aten, direct, nn } from '../ops';
import { refuse, sameShape, sizes, warn } from '../support';
import { type Flag, reduced, reductionName, reductionNumber, reductionOf } from './reduction';

const crossEntropyLoss = direct('cross_entropy_loss');
const nllLossNd = direct('nll_loss_nd');
const binaryLoss = direct('binary_cross_entropy');
const binaryLossWithLogits = direct('binary_cross_entropy_with_logits');

function demandSameShape(fn: string, input: Tensor, target: Tensor): void {
  if (sameShape(input.shape, target.shape)) return;
  throw refuse(fn, 'target', `a Tensor of the input's shape ${sizes(input.shape)}`, target);
}

/** An op that needs input and target broadcast to one shape, as the Python functions do. */
function broadcast(fn: string, op: (input: Tensor, target: Tensor) => Tensor, input: Tensor, target: Tensor): Tensor {
  if (sameShape(input.shape, target.shape)) return op(input, target);
  warn(
    `${fn}: using a target size (${sizes(target.shape)}) that is different to the input size (${sizes(input.shape)}). ` +
      'This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.',
  );
  return spread(op, input, target) as Tensor;
}

const spread = composed((op: (input: Tensor, target: Tensor) => Tensor, input: Tensor, target: Tensor) => {
  const [a, b] = aten.broadcastTensors!([input, target]) as [Tensor, Tensor];
  return op(a, b);
});

/** Losses over two tensors of one shape, with a reduction. */
const elementwise = (fn: string) => (input: Tensor, target: Tensor, average: Flag, reduce: Flag, reduction: string) => {
  const number = reductionOf(fn, average, reduce, reduction);
  return broadcast(fn, (a, b) => nn[fn]!(a, b, number), input, target);
};

function binaryCrossEntropy(
  input: Tensor,
  target: Tensor,
  weight: Tensor | null,
  average: Flag,
  reduce: Flag,
  reduction: string,
): Tensor {
  const number = reductionOf('binaryCrossEntropy', average, reduce, reduction);
  demandSameShape('binaryCrossEntropy', input, target);
  if (weight === null) return binaryLoss(input, target, null, number);
  return weighted(input, target, weight, number) as Tensor;
}

const weighted = composed((input: Tensor, target: Tensor, weight: Tensor, number: number) => {
  const [, wide] = aten.broadcastTensors!([target, weight]) as [Tensor, Tensor];
  return binaryLoss(input, target, wide, number);
});

/** A variance may have 1 in place of one size of the input, whichever it is; before, of the last. */
const broadcastsAnySize = since(2, 14);

/** Whether the sizes are those of the input, but for one that is 1. */
function isBroadcast(shape: readonly number[], variance: readonly number[]): boolean {
  if (!broadcastsAnySize) return sameShape([...shape.slice(0, -1), 1], variance);
  if (shape.length !== variance.length) return false;
  return variance.reduce((sum, size, i) => (size === shape[i] ? sum : sum + size), 0) === 1;
}

function gaussianNllLoss(
  input: Tensor,
  target: Tensor,
  variance: Tensor,
  full: boolean,
  eps: number,
  reduction: string,
): Tensor {
  reductionNumber('gaussianNllLoss', reduction);
  const { shape } = input;
  const outer = shape.slice(0, -1);
  let wide = variance;
  if (!sameShape(variance.shape, shape)) {
    if (sameShape(outer, variance.shape)) wide = variance.unsqueeze(-1);
    else if (!isBroadcast(shape, variance.shape)) {
      const one = broadcastsAnySize
        ? 'with 1 as one of its sizes or nothing as the last'
        : 'with 1 or nothing as its last size';
      throw refuse('gaussianNllLoss', 'var_', `a Tensor of shape ${sizes(shape)}, or ${one}`, variance);
    }
  }
  if (wide.lt(0).any().item()) throw refuse('gaussianNllLoss', 'var_', 'no negative entries', variance);
  const clamped = wide.clone();
  noGrad(() => clamped.clamp_({ min: eps }));
  let loss = clamped.log().add(input.sub(target).pow(2).div(clamped)).mul(0.5);
  if (full) loss = loss.add(0.5 * Math.log(2 * Math.PI));
  return reduced('gaussianNllLoss', loss, reduction);
}

function klDiv(
  input: Tensor,
  target: Tensor,
  average: Flag,
  reduce: Flag,
  reduction: string,
  logTarget: boolean,
): Tensor {
  const name = reductionName(average, reduce, reduction);
  const perBatch = name === 'batchmean';
  if (name === 'mean' && average === null && reduce === null) {
    warn(
      "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides only " +
        'by the batch size, and aligns with the KL div math definition.',
    );
  }
  const number = perBatch ? 2 : reductionNumber('klDiv', name);
  const loss = aten.klDiv!(input, target, number, { logTarget }) as Tensor;
  return perBatch && input.ndim > 0 ? loss.div(input.shape[0]!) : loss;
}

define(['nn.functional'], {
  binaryCrossEntropy,
  binaryCrossEntropyWithLogits: (
    input: Tensor,
    target: Tensor,
    weight: Tensor | null,
    average: Flag,
    reduce: Flag,
    reduction: string,
    posWeight: Tensor | null,
  ) => {
    const number = reductionOf('binaryCrossEntropyWithLogits', average, reduce, reduction);
    demandSameShape('binaryCrossEntropyWithLogits', input, target);
    return binaryLossWithLogits(input, target, weight, posWeight, number);
  },
  crossEntropy: (
    input: Tensor,
    target: Tensor,
    weight: Tensor | null,
    average: Flag,
    ignoreIndex: number,
    reduce: Flag,
    reduction: string,
    labelSmoothing: number,
  ) => {
    const number = reductionOf('crossEntropy', average, reduce, reduction);
    return crossEntropyLoss(input, target, weight, number, ignoreIndex, labelSmoothing);
  },
  ctcLoss: (
    logProbs: Tensor,
    targets: Tensor,
    inputLengths: Tensor | number[],
    targetLengths: Tensor | number[],
    blank: number,
    reduction: string,
    zeroInfinity: boolean,
  ) => {
    const number = reductionNumber('ctcLoss', reduction);
    return aten.ctcLoss!(logProbs, targets, inputLengths, targetLengths, blank, number, zeroInfinity);
  },
  gaussianNllLoss: composed(gaussianNllLoss),
  huberLoss: (input: Tensor, target: Tensor, reduction: string, delta: number) => {
    const number = reductionNumber('huberLoss', reduction);
    return broadcast('huberLoss', (a, b) => nn.huberLoss!(a, b, number, delta), input, target);
  },
  klDiv: composed(klDiv),
  l1Loss: elementwise('l1Loss'),
  mseLoss: elementwise('mseLoss'),
  nllLoss: (
    input: Tensor,
    target: Tensor,
    weight: Tensor | null,
    average: Flag,
    ignoreIndex: number,
    reduce: Flag,
    reduction: string,
  ) => nllLossNd(input, target, weight, reductionOf('nllLoss', average, reduce, reduction), ignoreIndex),
  poissonNllLoss: (
    input: Tensor,
    target: Tensor,
    logInput: boolean,
    full: boolean,
    average: Flag,
    eps: number,
    reduce: Flag,
    reduction: string,
  ) => {
    const number = reductionOf('poissonNllLoss', average, reduce, reduction);
    return aten.poissonNllLoss!(input, target, logInput, full, eps, number);
  },
  smoothL1Loss: (input: Tensor, target: Tensor, average: Flag, reduce: Flag, reduction: string, beta: number) => {
    const number = reductionOf('smoothL1Loss', average, reduce, reduction);
    return broadcast('smoothL1Loss', (a, b) => nn.smoothL1Loss!(a, b, number, beta), input, target);
  },
});
