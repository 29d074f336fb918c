/** torch/nn/functional.py: normalization. */

import { composed, define } from '../../call/define';
import type { Tensor } from '../../tensor/tensor';
import { aten, direct, nn } from '../ops';
import { product, refusal, refuse, sizes, withOut } from '../support';

/** Use cuDNN whenever libtorch can. */
const CUDNN = true;
const batchNormOp = direct('batch_norm');
const instanceNormOp = direct('instance_norm');
const groupNormOp = direct('group_norm');

function batchNorm(
  input: Tensor,
  runningMean: Tensor | null,
  runningVar: Tensor | null,
  weight: Tensor | null,
  bias: Tensor | null,
  training: boolean,
  momentum: number,
  eps: number,
): Tensor {
  if (training) demandSeveralValues('batchNorm', input.shape);
  return batchNormOp(input, weight, bias, runningMean, runningVar, training, momentum, eps, CUDNN);
}

/** Refuses a single value per channel, whose statistics are meaningless: batch times spatial sizes must exceed 1. */
function demandSeveralValues(fn: string, shape: readonly number[]): void {
  const [batch = 1, , ...spatial] = shape;
  if (batch * product(spatial) !== 1) return;
  throw refusal(fn, 'input', 'more than 1 value per channel when training', `a Tensor of shape ${sizes(shape)}`);
}

function instanceNorm(
  input: Tensor,
  runningMean: Tensor | null,
  runningVar: Tensor | null,
  weight: Tensor | null,
  bias: Tensor | null,
  useInputStats: boolean,
  momentum: number,
  eps: number,
): Tensor {
  if (useInputStats && product(input.shape.slice(2)) === 1) {
    throw refuse('instanceNorm', 'input', 'more than 1 spatial element when training', input);
  }
  return instanceNormOp(input, weight, bias, runningMean, runningVar, useInputStats, momentum, eps, CUDNN);
}

function groupNorm(input: Tensor, groups: number, weight: Tensor | null, bias: Tensor | null, eps: number): Tensor {
  const { shape } = input;
  if (shape.length < 2) throw refuse('groupNorm', 'input', 'a Tensor of at least 2 dimensions', input);
  const count = Number(groups); // it may be a bigint
  demandSeveralValues('groupNorm', [Math.floor((shape[0]! * shape[1]!) / count), count, ...shape.slice(2)]);
  return groupNormOp(input, groups, weight, bias, eps, CUDNN);
}

function localResponseNorm(input: Tensor, size: number, alpha: number, beta: number, k: number): Tensor {
  const { shape, ndim } = input;
  if (ndim < 3) throw refuse('localResponseNorm', 'input', 'a Tensor of at least 3 dimensions', input);
  if (input.numel === 0) return input;
  const count = Number(size); // it may be a bigint
  const around = [Math.trunc(count / 2), Math.trunc((count - 1) / 2)];
  let mean = input.mul(input).unsqueeze(1);
  if (ndim === 3) {
    mean = nn.avgPool2d!(nn.pad!(mean, [0, 0, ...around]), [size, 1], 1).squeeze(1);
  } else {
    const volume = mean.view([shape[0]!, 1, shape[1]!, shape[2]!, -1]);
    mean = nn.avgPool3d!(nn.pad!(volume, [0, 0, 0, 0, ...around]), [size, 1, 1], 1)
      .squeeze(1)
      .view(shape);
  }
  return input.div(mean.mul(alpha).add(k).pow(beta));
}

function normalize(input: Tensor, p: number, dim: number[], eps: number, out: Tensor | null): Tensor {
  const length = (aten.norm!(input, p, dim, true) as Tensor).clampMin(eps).expandAs(input);
  return withOut(out, (...options) => aten.div!(input, length, ...options));
}

define(['nn.functional'], {
  batchNorm,
  groupNorm,
  instanceNorm,
  localResponseNorm: composed(localResponseNorm),
  normalize: composed(normalize),
});
