/** `t.at(…)` and `t.set(…)`: PyTorch's `t[…]` and `t[…] = value`. */
import { argumentError } from './errors';
import { scope } from './scopes/scope';
import { Tensor } from './tensor';
import { isComplex } from './values';

/** Part of a dimension, as Python's `start:stop:step`. null: from the beginning, to the end, every element. */
export class Slice {
  constructor(
    readonly start: number | null,
    readonly stop: number | null,
    readonly step: number | null,
  ) {}
}

/** `torch.slice(1, 5, 2)` is Python's `1:5:2`. */
export function slice(start: number | null = null, stop: number | null = null, step: number | null = null): Slice {
  for (const [name, value] of Object.entries({ start, stop, step })) {
    if (value !== null && !Number.isInteger(value)) throw argumentError('slice', name, 'an integer or null', value);
  }
  if (step !== null && step < 1) throw argumentError('slice', 'step', 'a step of 1 or more', step);
  return new Slice(start, stop, step);
}

/** An integer, a slice, `null` for a new dimension, '...' for all dimensions between, booleans, or an index tensor. */
export type Index = number | bigint | boolean | Slice | null | '...' | Tensor | readonly number[] | readonly boolean[];

/** Dimensions that an index takes up: a boolean mask takes as many as it has. */
function consumed(index: Index): number {
  if (index === null || index === '...' || typeof index === 'boolean') return 0;
  if (index instanceof Tensor && (index.dtype === 'bool' || index.dtype === 'uint8')) return index.ndim;
  return 1;
}

function indexTensor(index: boolean | Tensor | readonly number[] | readonly boolean[], like: Tensor): Tensor {
  if (index instanceof Tensor) return index;
  // Loaded late: creation imports this module's neighbours.
  const { tensor } = require('./create') as typeof import('./create');
  if (typeof index === 'boolean') return tensor(index, { device: like.device });
  const dtype = typeof index[0] === 'boolean' ? undefined : ('int64' as const);
  return tensor(index as number[], { device: like.device, ...(dtype === undefined ? {} : { dtype }) });
}

const isTensorIndex = (index: Index): index is boolean | Tensor | readonly number[] | readonly boolean[] =>
  index instanceof Tensor || Array.isArray(index) || typeof index === 'boolean';

/** Applies integers, slices and new dimensions as views; collects tensor indices for one advanced index at the end. */
function view(self: Tensor, indices: readonly Index[]): { view: Tensor; advanced: (Tensor | null)[] } {
  const taken = indices.reduce<number>((sum, index) => sum + consumed(index), 0);
  const dims = self.ndim;
  if (taken > dims) throw argumentError('at', 'indices', `at most ${dims} indices for ${self._describe()}`, taken);
  if (indices.filter((index) => index === '...').length > 1) {
    throw argumentError('at', 'indices', "at most one '...'", [...indices]);
  }
  let result = self.alias();
  let dim = 0;
  const advanced: (Tensor | null)[] = [];
  const pass = () => {
    advanced.push(null);
    dim++;
  };
  for (const index of indices) {
    if (index === '...') {
      for (let i = dims - taken; i > 0; i--) pass();
    } else if (index === null) {
      result = result.unsqueeze(dim);
      pass();
    } else if (index instanceof Slice) {
      result = result.slice(dim, index.start, index.stop, index.step ?? 1);
      pass();
    } else if (isTensorIndex(index)) {
      const tensor = indexTensor(index, self);
      if (typeof index === 'boolean') result = result.unsqueeze(dim);
      const span = typeof index === 'boolean' ? 1 : consumed(tensor);
      advanced.push(typeof index === 'boolean' ? tensor.unsqueeze(0) : tensor);
      dim += span;
    } else if (Number.isInteger(index) || typeof index === 'bigint') {
      result = result.select(dim, index);
    } else {
      throw argumentError('at', 'indices', "integers, slices, null, '...', booleans or index tensors", index);
    }
  }
  return { view: result, advanced };
}

/** The elements that `indices` choose: a view where no index is a tensor, else a copy. */
export function at(self: Tensor, indices: readonly Index[]): Tensor {
  return scope(() => {
    const { view: chosen, advanced } = view(self, indices);
    return advanced.some((index) => index !== null) ? chosen.index(advanced) : chosen;
  });
}

/** Writes `value` (a number, bigint, boolean, complex or a tensor that broadcasts) into the chosen elements. */
export function set(self: Tensor, indices: Index | readonly Index[], value: unknown): Tensor {
  const list = Array.isArray(indices) ? (indices as readonly Index[]) : [indices as Index];
  scope(() => {
    const { view: chosen, advanced } = view(self, list);
    const isTensor = value instanceof Tensor;
    if (!isTensor && !['number', 'bigint', 'boolean'].includes(typeof value) && !isComplex(value)) {
      throw argumentError('set', 'value', 'a Tensor, number, bigint, boolean or complex', value);
    }
    if (advanced.some((index) => index !== null)) {
      const source = isTensor ? (value as Tensor).to(self.dtype) : self.newFull([], value as number);
      chosen.indexPut_(advanced, source);
    } else if (isTensor) chosen.copy_(value as Tensor);
    else chosen.fill_(value as number);
  });
  return self;
}
