/** Everything in torch.nn that depends on the release of libtorch. */
import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { since } from '../optim/release';
import type { Tensor } from '../tensor/tensor';
import { aten } from './ops';

const is2 = since(2, 0);
const hasRmsNorm = since(2, 4);

/** Fused layers keep `requiresGrad` and the dtypes of the layer; before, their parameters required gradients. */
export const fusedKeepsOptions = is2;

/** `bias` of the Transformer's layers is an argument by position too. */
export const biasIsPositional = since(2, 1);

/** Attention takes `isCausal`, converts masks to floats to add, and has fused ops with two masks. */
export const sumsMasks = is2;

/** ModuleList prints equal neighbours once, with their number. */
export const joinsRepeated = since(2, 0);

/** EmbeddingBag prints its mode in quotes. */
export const quotesMode = since(2, 1);

/** Normalizations print whether they have a bias. */
export const printsNormBias = since(2, 14);

/** Truncated normal numbers are drawn again until they are inside; before, they come from uniform ones by `erfinv_`. */
export const truncatesByDrawing = since(2, 14);

const EPSILON: Readonly<Record<string, number>> = { float64: 2 ** -52, float16: 2 ** -10, bfloat16: 2 ** -7 };

/** RMSNorm: an op from 2.4 on; before, what that op computes. */
export function normalizedByRoot(input: Tensor, shape: readonly number[], weight: Tensor | null, eps: number | null) {
  if (hasRmsNorm) return aten.rmsNorm(input, shape, weight, eps) as Tensor;
  const dims = shape.map((_, i) => i - shape.length);
  const fits = input.ndim >= shape.length && shape.every((size, i) => input.shape.at(dims[i]!) === size);
  if (!fits) {
    const expected = `a Tensor whose last sizes are ${shape.join(', ')}`;
    throw argumentError('nn.RMSNorm.forward', 'input', expected, input);
  }
  return ownScope(() => {
    const isNarrow = input.dtype === 'float16' || input.dtype === 'bfloat16';
    const wide = isNarrow ? (input.to('float32') as Tensor) : input;
    const squares = (wide.pow(2) as Tensor).mean(dims, true) as Tensor;
    const root = (squares.add(eps ?? EPSILON[input.dtype] ?? 2 ** -23) as Tensor).rsqrt() as Tensor;
    const scaled = wide.mul(root) as Tensor;
    const result = isNarrow ? (scaled.to(input.dtype) as Tensor) : scaled;
    return weight === null ? result : (result.mul(weight) as Tensor);
  });
}

/** AveragedModel copies the model's buffers where it does not average them. */
export const syncsBuffers = is2;

/** AveragedModel uses `lerp_` for its means on devices that have ops for lists of tensors. */
export const averagesByLerp = (device: string): boolean => is2 && device !== 'cpu';

/** DistributedDataParallel gives all ranks the buffers of rank 0 at first, also if it does not do so later. */
export const syncsBuffersAlways = !since(2, 1);
