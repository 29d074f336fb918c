/** torch/nn/functional.py: dropout. */

import { composed, define, type Implementation } from '../../call/define';
import type { Tensor } from '../../tensor/tensor';
import { aten } from '../ops';
import { refuse, warn } from '../support';

function demandProbability(fn: string, p: number): void {
  if (!(p >= 0 && p <= 1)) throw refuse(fn, 'p', 'a probability from 0 to 1', p);
}

/** A dropout op or its in-place form. */
const dropped =
  (fn: string): Implementation =>
  (input: Tensor, p: number, training: boolean, inplace: boolean) => {
    demandProbability(fn, p);
    return aten[inplace ? `${fn}_` : fn]!(input, p, training);
  };

const feature = (input: Tensor, p: number, training: boolean, inplace: boolean): Tensor =>
  aten[inplace ? 'featureDropout_' : 'featureDropout']!(input, p, training);

/** Drops whole channels of an input with or without a batch; `dims`: the number of dimensions of a channel. */
const byChannel = (fn: string, dims: number): Implementation =>
  composed((input: Tensor, p: number, training: boolean, inplace: boolean) => {
    demandProbability(fn, p);
    if (input.ndim === dims + 2) return feature(input, p, training, inplace);
    if (input.ndim !== dims + 1) {
      if (dims === 1) throw refuse(fn, 'input', 'a Tensor of 2 or 3 dimensions', input);
      warn(`${fn}: received an input of ${input.ndim} dimensions, which is deprecated. Please use dropout instead.`);
    }
    const result = feature(input.unsqueeze(0), p, training, inplace);
    return inplace ? input : result.squeeze(0); // in place, a view of the input was written
  });

/** With three dimensions it treats the first as the batch, unlike the other functions. */
function dropout2d(input: Tensor, p: number, training: boolean, inplace: boolean): Tensor {
  demandProbability('dropout2d', p);
  if (input.ndim === 3) {
    warn(
      'dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - ' +
        'input is interpreted as shape (N, C, L), where C is the channel dim. Please switch to using dropout1d instead.',
    );
  } else if (input.ndim !== 4) {
    warn(`dropout2d: received an input of ${input.ndim} dimensions, which is deprecated. Please use dropout instead.`);
  }
  return feature(input, p, training, inplace);
}

define(['nn.functional'], {
  dropout: dropped('dropout'),
  alphaDropout: dropped('alphaDropout'),
  featureAlphaDropout: dropped('featureAlphaDropout'),
  dropout1d: byChannel('dropout1d', 1),
  dropout2d,
  dropout3d: byChannel('dropout3d', 3),
});
