/** torch.sparse.sum, and sparse tensors from JavaScript data. */
import type { DType } from '../../types/base';
import { composed, define } from '../call/define';
import { type TensorData, tensor } from '../elements/create';
import { isTensor, type Tensor } from '../tensor/tensor';
import { aten } from './ops';

define(['sparse'], {
  sum: (input: Tensor, dim: number[] | null, dtype: string | null) => {
    const options = dtype === null ? {} : { dtype };
    return dim === null ? aten._sparseSum!(input, options) : aten._sparseSum!(input, dim, options);
  },
});

/** The data as a tensor. Indices given as numbers become int64. */
const tensorOf = (data: unknown, dtype?: DType): Tensor =>
  isTensor(data) ? data : tensor(data as TensorData, dtype === undefined ? {} : { dtype });

/** Calls the op with tensors in place of data; `size` is omitted if the indices determine it. */
function made(
  op: string,
  indices: readonly unknown[],
  values: unknown,
  size: number[] | null,
  dtype: string | null,
  device: string | null,
  requiresGrad: boolean,
): Tensor {
  const whole = tensorOf(values, (dtype as DType | null) ?? undefined);
  const parts = [...indices.map((data) => tensorOf(data, 'int64')), whole];
  const options = { dtype: dtype ?? whole.dtype, device: device ?? whole.device, requiresGrad };
  return aten[op]!(...parts, ...(size === null ? [] : [size]), options);
}

/** For the compressed layouts: the indices of one dimension are compressed, those of the other plain. */
const compressed = (op: string) =>
  composed(
    (
      counted: unknown,
      listed: unknown,
      values: unknown,
      size: number[] | null,
      dtype: string | null,
      device: string | null,
      requiresGrad: boolean,
    ) => made(op, [counted, listed], values, size, dtype, device, requiresGrad),
  );

define([''], {
  sparseCooTensor: composed(
    (
      indices: unknown,
      values: unknown,
      size: number[] | null,
      dtype: string | null,
      device: string | null,
      requiresGrad: boolean,
    ) => made('sparseCooTensor', [indices], values, size, dtype, device, requiresGrad),
  ),
  sparseCsrTensor: compressed('sparseCsrTensor'),
  sparseCscTensor: compressed('sparseCscTensor'),
  sparseBsrTensor: compressed('sparseBsrTensor'),
  sparseBscTensor: compressed('sparseBscTensor'),
});
