/** torch/nn/functional.py: embeddings. */
import { noGrad } from '../../autograd/backward';
import { composed, define } from '../../call/define';
import type { Tensor } from '../../tensor/tensor';
import { aten } from '../ops';
import { refuse, sameShape, sizes, warn } from '../support';

/** Scales the used rows down to a maximum norm, in place. */
function renorm(weight: Tensor, input: Tensor, maxNorm: number, normType: number): void {
  noGrad(() => aten.embeddingRenorm_!(weight.detach(), input, maxNorm, normType));
}

function embedding(
  input: Tensor,
  weight: Tensor,
  paddingIdx: number | null,
  maxNorm: number | null,
  normType: number,
  scaleGradByFreq: boolean,
  sparse: boolean,
): Tensor {
  const padding = paddingRow(paddingIdx, weight);
  if (maxNorm === null) return aten.embedding!(weight, input, padding, scaleGradByFreq, sparse);
  return renormed(input, weight, padding, maxNorm, normType, scaleGradByFreq, sparse) as Tensor;
}

const renormed = composed(
  (
    input: Tensor,
    weight: Tensor,
    padding: number,
    maxNorm: number,
    normType: number,
    scaleGradByFreq: boolean,
    sparse: boolean,
  ) => {
    const indices = input.contiguous();
    renorm(weight, indices, maxNorm, normType);
    return aten.embedding!(weight, indices, padding, scaleGradByFreq, sparse);
  },
);

/** The row without a gradient; -1 for none. */
function paddingRow(index: number | null, weight: Tensor): number {
  if (index === null) return -1;
  const rows = weight.shape[0]!;
  if (index >= rows || index < -rows) throw refuse('embedding', 'paddingIdx', `a row of the ${rows}`, index);
  return index < 0 ? rows + index : index;
}

const modes = ['sum', 'mean', 'max'];

function embeddingBag(
  input: Tensor,
  weight: Tensor,
  offsets: Tensor | null,
  maxNorm: number | null,
  normType: number,
  scaleGradByFreq: boolean,
  mode: string,
  sparse: boolean,
  perSampleWeights: Tensor | null,
  includeLastOffset: boolean,
  paddingIdx: number | null,
): Tensor {
  const fn = 'embeddingBag';
  if (weight.dtype === 'int64' && input.isFloatingPoint()) {
    warn('The order of nn.functional.embeddingBag(weight, input) is deprecated. Use embeddingBag(input, weight).');
    const rest = [offsets, maxNorm, normType, scaleGradByFreq, mode, sparse] as const;
    return embeddingBag(weight, input, ...rest, perSampleWeights, includeLastOffset, paddingIdx);
  }
  if (perSampleWeights !== null && !sameShape(perSampleWeights.shape, input.shape)) {
    throw refuse(fn, 'perSampleWeights', `the input's shape ${sizes(input.shape)}`, perSampleWeights);
  }
  const modeNumber = modes.indexOf(mode);
  if (modeNumber < 0) throw refuse(fn, 'mode', "'sum', 'mean' or 'max'", mode);
  if (mode === 'max' && scaleGradByFreq) throw refuse(fn, 'scaleGradByFreq', "false in mode 'max'", scaleGradByFreq);
  if (mode === 'max' && sparse) throw refuse(fn, 'sparse', "false in mode 'max'", sparse);
  if (perSampleWeights !== null && mode !== 'sum') {
    throw refuse(fn, 'perSampleWeights', "none but in mode 'sum'", perSampleWeights);
  }
  const bags = bagsOf(input, offsets);
  if (maxNorm !== null) renorm(weight, bags.indices, maxNorm, normType);
  const weights = perSampleWeights === null ? null : perSampleWeights.reshape([-1]);
  const results = aten.embeddingBag!(
    weight,
    bags.indices,
    bags.offsets,
    scaleGradByFreq,
    modeNumber,
    sparse,
    weights,
    includeLastOffset,
    paddingIdx,
  ) as Tensor[];
  return results[0]!;
}

/** A flat list of indices and the offset of each bag; each row of a matrix is a bag. */
function bagsOf(input: Tensor, offsets: Tensor | null): { indices: Tensor; offsets: Tensor } {
  const fn = 'embeddingBag';
  if (input.ndim === 2) {
    if (offsets !== null)
      throw refuse(fn, 'offsets', 'none for an input of 2 dimensions, whose rows are bags', offsets);
    const { dtype, device } = input;
    const starts = aten.arange!(0, input.numel, input.shape[1]!, { dtype, device }) as Tensor;
    return { indices: input.reshape([-1]), offsets: starts };
  }
  if (input.ndim !== 1) throw refuse(fn, 'input', 'a Tensor of 1 or 2 dimensions', input);
  if (offsets === null || offsets.ndim !== 1) throw refuse(fn, 'offsets', 'a Tensor of 1 dimension', offsets);
  return { indices: input, offsets };
}

define(['nn.functional'], { embedding, embeddingBag: composed(embeddingBag) });
