/** Sequences of several lengths as one batch, for recurrent layers. */

import type { DTypeLike } from '../../../types/base';
import { upTo } from '../../errors/arity';
import { argumentError } from '../../errors/errors';
import { tensors } from '../../lifetimes/walk';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { aten } from '../ops';

const inspect = Symbol.for('nodejs.util.inspect.custom');

export interface PackedTarget {
  device?: string | null | undefined;
  dtype?: DTypeLike | null | undefined;
}

/** The inverse of a permutation, as indices. */
export function invertPermutation(permutation: null): null;
export function invertPermutation(permutation: Tensor): Tensor;
export function invertPermutation(permutation: Tensor | null): Tensor | null;
export function invertPermutation(permutation: Tensor | null): Tensor | null {
  if (permutation === null) return null;
  const inverse = aten.emptyLike(permutation) as Tensor;
  const places = aten.arange(0, permutation.numel, { dtype: permutation.dtype, device: permutation.device }) as Tensor;
  inverse.scatter_(0, permutation, places);
  places.dispose();
  return inverse;
}

/**
 * Sequences in the order in which recurrent layers read them: the first elements of all, then the second ones, … The
 * functions of `torch.nn.utils.rnn` make it.
 */
export class PackedSequence {
  readonly data: Tensor;
  /** How many sequences have a first element, a second one, …; on the CPU. */
  readonly batchSizes: Tensor;
  /** The order of the sequences; null if it was not changed. */
  readonly sortedIndices: Tensor | null;
  readonly unsortedIndices: Tensor | null;

  constructor(data: Tensor, batchSizes: Tensor, sortedIndices?: Tensor | null, unsortedIndices?: Tensor | null);
  constructor(
    ...passed: [data: Tensor, batchSizes: Tensor, sortedIndices?: Tensor | null, unsortedIndices?: Tensor | null]
  ) {
    const [data, batchSizes, sortedIndices = null, unsortedIndices = null] = upTo(
      'nn.utils.rnn.PackedSequence',
      4,
      passed,
    );
    const at = 'nn.utils.rnn.PackedSequence';
    if (!isTensor(data)) throw argumentError(at, 'data', 'a Tensor', data);
    if (!isTensor(batchSizes) || batchSizes.device !== 'cpu') {
      throw argumentError(at, 'batchSizes', 'a Tensor on the CPU', batchSizes);
    }
    // libtorch reads the first size without a check.
    if (batchSizes.ndim !== 1 || batchSizes.numel === 0) {
      throw argumentError(at, 'batchSizes', 'one or more sizes in one dimension', batchSizes);
    }
    for (const [name, value] of Object.entries({ sortedIndices, unsortedIndices })) {
      if (value !== null && !isTensor(value)) throw argumentError(at, name, 'a Tensor or null', value);
    }
    this.data = data;
    this.batchSizes = batchSizes;
    this.sortedIndices = sortedIndices;
    this.unsortedIndices = unsortedIndices ?? invertPermutation(sortedIndices);
  }

  get [tensors](): Tensor[] {
    const { data, batchSizes, sortedIndices, unsortedIndices } = this;
    return [data, batchSizes, sortedIndices, unsortedIndices].filter((one): one is Tensor => one !== null);
  }

  /** @internal */
  _with(data: Tensor): PackedSequence {
    const on = (indices: Tensor | null) => {
      if (indices === null || indices.device === data.device) return indices;
      return indices.to(data.device as never) as Tensor;
    };
    return new PackedSequence(data, this.batchSizes, on(this.sortedIndices), on(this.unsortedIndices));
  }

  /** Moves or converts the values: a device, a dtype, or `{ device, dtype }`. The same sequences if nothing changes. */
  to(target: DTypeLike | string | PackedTarget): PackedSequence {
    const data = this.data.to(target as never) as Tensor;
    if (data === this.data) return this;
    if (data.dtype === this.data.dtype && data.device === this.data.device) {
      data.dispose();
      return this;
    }
    return this._with(data);
  }

  cpu(): PackedSequence {
    return this.to('cpu');
  }

  cuda(device = 'cuda:0'): PackedSequence {
    return this.to(device);
  }

  double(): PackedSequence {
    return this.to('float64');
  }

  float(): PackedSequence {
    return this.to('float32');
  }

  half(): PackedSequence {
    return this.to('float16');
  }

  long(): PackedSequence {
    return this.to('int64');
  }

  int(): PackedSequence {
    return this.to('int32');
  }

  short(): PackedSequence {
    return this.to('int16');
  }

  char(): PackedSequence {
    return this.to('int8');
  }

  byte(): PackedSequence {
    return this.to('uint8');
  }

  get isCuda(): boolean {
    return this.data.device.startsWith('cuda');
  }

  toString(): string {
    const text = (tensor: Tensor | null) => (tensor === null ? 'None' : String(tensor));
    const { data, batchSizes, sortedIndices, unsortedIndices } = this;
    return (
      `PackedSequence(data=${text(data)}, batch_sizes=${text(batchSizes)}, ` +
      `sorted_indices=${text(sortedIndices)}, unsorted_indices=${text(unsortedIndices)})`
    );
  }

  [inspect](): string {
    return this.toString();
  }
}
