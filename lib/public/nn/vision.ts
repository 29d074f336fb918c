/** torch/nn/functional.py: grids, and blocks of images as columns. */

import { define } from '../../call/define';
import type { Tensor } from '../../tensor/tensor';
import { aten, nn } from '../ops';
import { refuse, warn } from '../support';

const sampleModes = ['bilinear', 'nearest', 'bicubic'];
const paddingModes = ['zeros', 'border', 'reflection'];
const quoted = (names: readonly string[]) => names.map((name) => `'${name}'`).join(', ');

/** Default false, as since PyTorch 1.3. */
function corners(fn: string, alignCorners: boolean | null): boolean {
  if (alignCorners === null) {
    warn(`${fn}: the default of alignCorners is false since PyTorch 1.3. Please say { alignCorners } to be sure.`);
  }
  return alignCorners ?? false;
}

function gridSample(
  input: Tensor,
  grid: Tensor,
  mode: string,
  paddingMode: string,
  alignCorners: boolean | null,
): Tensor {
  const [sampling, padding] = [sampleModes.indexOf(mode), paddingModes.indexOf(paddingMode)];
  if (sampling < 0) throw refuse('gridSample', 'mode', `one of ${quoted(sampleModes)}`, mode);
  if (padding < 0) throw refuse('gridSample', 'paddingMode', `one of ${quoted(paddingModes)}`, paddingMode);
  return aten.gridSampler!(input, grid, sampling, padding, corners('gridSample', alignCorners));
}

function affineGrid(theta: Tensor, size: number[], alignCorners: boolean | null): Tensor {
  const align = corners('affineGrid', alignCorners);
  if (!theta.isFloatingPoint()) throw refuse('affineGrid', 'theta', 'a floating-point Tensor', theta);
  const dims = size.length - 2;
  if (dims !== 2 && dims !== 3) throw refuse('affineGrid', 'size', '4 or 5 sizes', size);
  const { shape } = theta;
  if (shape.length !== 3 || shape[1] !== dims || shape[2] !== dims + 1) {
    throw refuse('affineGrid', 'theta', `a batch of matrices of ${dims} x ${dims + 1} for ${size.length} sizes`, theta);
  }
  if (size.some((one) => one <= 0)) throw refuse('affineGrid', 'size', 'sizes of 1 or more', Math.min(...size));
  return aten.affineGridGenerator!(theta, size, align);
}

type Pair = number[];

define(['nn.functional'], {
  affineGrid,
  gridSample,
  unfold: (input: Tensor, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) =>
    nn.im2col!(input, kernel, dilation, padding, stride),
  fold: (input: Tensor, output: Pair, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) =>
    nn.col2im!(input, output, kernel, dilation, padding, stride),
});
