/** `t.at(…)` and `t.set(…)`: PyTorch's `t[…]` and `t[…] = value`. */

import { native } from '../addon/native';
import { lateRow } from '../addon/wrappers';
import { packedHandles } from '../call/packed';
import { f } from '../call/runtime';
import { argumentError, describe, refusal } from '../errors/errors';
import { isComplex } from '../errors/values';
import { Flag, RecordingMode } from '../generated/codes';
import { ownScope } from '../lifetimes/scope';
import { isPendingTensor } from '../tensor/pending';
import { readValue } from '../tensor/reading';
import { isGenuine, isTensor, requireLive, type Tensor, wrap } from '../tensor/tensor';

const { flags } = native;
const indexRow = lateRow('index', 'Tensor');
const indexPutRow = lateRow('index_put_');

/** Part of a dimension, like Python's `start:stop:step`. null: from the beginning, to the end, every element. */
export class Slice<
  out A extends number | null = number | null,
  out B extends number | null = number | null,
  out C extends number | null = number | null,
> {
  constructor(
    readonly start: A,
    readonly stop: B,
    readonly step: C,
  ) {}
}

/** `torch.slice(1, 5, 2)` is Python's `1:5:2`. */
export function slice<A extends number | null = null, B extends number | null = null, C extends number | null = null>(
  start?: A,
  stop?: B,
  step?: C,
): Slice<A, B, C>;
export function slice(start: number | null = null, stop: number | null = null, step: number | null = null): Slice {
  for (const [name, value] of Object.entries({ start, stop, step })) {
    if (value !== null && !Number.isInteger(value)) throw argumentError('slice', name, 'an integer or null', value);
  }
  if (step !== null && step < 1) throw argumentError('slice', 'step', 'a step of 1 or more', step);
  return new Slice(start, stop, step);
}

/** The error for a value, with a hint if there is one. */
const misfit = (fn: string, argument: string, expected: string, value: unknown, hint: string): Error =>
  hint === '' ? argumentError(fn, argument, expected, value) : refusal(fn, argument, expected, describe(value) + hint);

/** The hint for Python's `1:5:2` in a string. */
function sliceHint(index: unknown): string {
  const parts = typeof index === 'string' ? /^(-?\d*):(-?\d*)(?::(-?\d*))?$/.exec(index) : null;
  if (parts === null) return '';
  const given = parts.slice(1).map((part) => part || 'null');
  while (given.at(-1) === 'null') given.pop();
  return `; write torch.slice(${given.join(', ')})`;
}

/** An integer, a slice, `null` for a new dimension, '...' for the dimensions in between, booleans, or an index tensor. */
export type Index = number | bigint | boolean | Slice | null | '...' | Tensor | readonly IndexList[];
type IndexList = number | bigint | boolean | readonly IndexList[];

/** An index after lists and booleans are converted to tensors. */
type Plain = number | bigint | Slice | null | '...' | Tensor;

const isMask = (index: Tensor) => index.dtype === 'bool' || index.dtype === 'uint8';

/** Whether it stands for an integer, as in PyTorch: the result is a view. */
const isInteger = (index: Tensor) => index.ndim === 0 && /^u?int/.test(index.dtype) && !isMask(index);

const isRecording = () => flags[Flag.Recording] !== RecordingMode.Off;

/** Like select(), with an integer that is read when the op runs. */
const selectLater = (self: Tensor, dim: number, index: Tensor): Tensor => self.narrow(dim, index, 1).squeeze(dim);

/** Refuses fractions in a list: they would be truncated and select another element. */
function requireIntegers(fn: string, list: readonly IndexList[], path: string): void {
  list.forEach((index, i) => {
    if (Array.isArray(index)) requireIntegers(fn, index, `${path}[${i}]`);
    else if (typeof index === 'number' && !Number.isInteger(index)) {
      throw argumentError(fn, 'indices', `an integer at ${path}[${i}]`, index);
    }
  });
}

type Create = typeof import('./create');
let create: Create | undefined;

/** Loaded lazily because of a circular import, and once because `require` takes several microseconds. */
function tensor(data: number | boolean | readonly number[], dtype: 'bool' | 'int64', like: Tensor): Tensor {
  create ??= require('./create') as Create;
  return create.tensor(data, { dtype, device: like.device });
}

/** Converts lists and booleans to tensors, and a zero-dimensional integer tensor to its integer, unless ops are recorded. */
function plain(fn: string, index: Index, position: number, like: Tensor): Plain {
  if (typeof index === 'boolean') return tensor(index, 'bool', like);
  if (Array.isArray(index)) {
    let leaf: unknown = index;
    while (Array.isArray(leaf)) leaf = leaf[0];
    requireIntegers(fn, index, `indices[${position}]`);
    const dtype = typeof leaf === 'boolean' ? 'bool' : 'int64';
    return tensor(index as number[], dtype, like);
  }
  if (!isTensor(index)) return index as Plain;
  requireLive(fn, 'indices', index);
  return isInteger(index) && !isRecording() ? (index.item() as number) : index;
}

/** The number of dimensions that an index consumes: a mask consumes as many as it has. */
function consumed(index: Plain): number {
  if (index === null || index === '...') return 0;
  return isTensor(index) && isMask(index) ? index.ndim : 1;
}

/** Applies integers, slices and new dimensions as views; collects tensor indices for one final index op. */
function view(fn: string, self: Tensor, given: readonly Index[]): Chosen {
  requireLive(fn, 'self', self);
  const indices = given.map((index, position) => plain(fn, index, position, self));
  const taken = indices.reduce<number>((sum, index) => sum + consumed(index), 0);
  const dims = self.ndim;
  if (taken > dims) throw argumentError(fn, 'indices', `at most ${dims} indices for ${self._describe()}`, taken);
  if (indices.filter((index) => index === '...').length > 1) {
    throw argumentError(fn, 'indices', "at most one '...'", [...given]);
  }
  let result = self;
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
    } else if (isTensor(index) && isInteger(index)) {
      result = selectLater(result, dim, index);
    } else if (isTensor(index)) {
      // A zero-dimensional mask selects all or nothing of a new dimension.
      const whole = isMask(index) && index.ndim === 0;
      if (whole) result = result.unsqueeze(dim);
      advanced.push(whole ? index.unsqueeze(0) : index);
      dim += whole ? 1 : consumed(index);
    } else if (Number.isInteger(index) || typeof index === 'bigint') {
      result = result.select(dim, index);
    } else {
      const expected = "integers, slices, null, '...', booleans or index tensors";
      throw misfit(fn, 'indices', expected, index, sliceHint(index));
    }
  }
  // As in PyTorch: with trailing nulls after a mask, libtorch would fill the wrong elements.
  while (advanced.length > 0 && advanced[advanced.length - 1] === null) advanced.pop();
  return { view: result, advanced, isQuick: false };
}

/** What `indices` choose of a tensor: a view, which is the tensor itself if none is needed, and tensor indices into it. */
interface Chosen {
  readonly view: Tensor;
  readonly advanced: (Tensor | null)[];
  /** By quick(): all are tensors that an op takes as they are. */
  readonly isQuick: boolean;
}

const isWhole = ({ start, stop, step }: Slice) => start === null && stop === null && (step === null || step === 1);

/** The dimensions that '...' stands for. */
function between(self: Tensor, indices: readonly Index[]): number {
  let dims = self.ndim;
  for (const index of indices) dims -= consumed(index as Plain);
  return dims;
}

/**
 * Like `view`, without its checks and without a scope: the usual indices are a few ops, which take less time than a scope.
 * Undefined for everything that `view` converts or refuses, with nothing left behind: then `view` does it or throws its error.
 */
function quick(self: Tensor, indices: readonly Index[]): Chosen | undefined {
  if (isRecording() || !isGenuine(self)) return undefined;
  let result = self;
  let dim = 0;
  let isUnchecked = false; // by ops: whole slices, and tensors until the index op
  let hasDots = false;
  const advanced: (Tensor | null)[] = [];
  const step = (next: Tensor) => {
    if (result !== self) result.dispose();
    result = next;
  };
  const giveUp = () => {
    if (result !== self) result.dispose();
    return undefined;
  };
  try {
    for (const index of indices) {
      if (typeof index === 'number' && Number.isInteger(index)) {
        step(result.select(dim, index));
      } else if (index instanceof Slice) {
        if (isWhole(index)) isUnchecked = true;
        else step(result.slice(dim, index.start, index.stop, index.step ?? 1));
        dim++;
        advanced.push(null);
      } else if (index === null) {
        step(result.unsqueeze(dim++));
        advanced.push(null);
      } else if (index === '...') {
        const dots = hasDots ? -1 : between(self, indices);
        if (dots < 0) return giveUp();
        hasDots = true;
        dim += dots;
        for (let i = 0; i < dots; i++) advanced.push(null);
      } else if (isGenuine(index) && !isPendingTensor(index) && index.ndim > 0) {
        dim += consumed(index);
        advanced.push(index);
        isUnchecked = true;
      } else return giveUp();
    }
    if (isUnchecked && dim > result.ndim) return giveUp();
  } catch {
    return giveUp(); // view() throws it again, with the name of this function
  }
  while (advanced.length > 0 && advanced[advanced.length - 1] === null) advanced.pop();
  return { view: result, advanced, isQuick: true };
}

const handlesOf = (list: readonly (Tensor | null)[]) =>
  packedHandles(list.map((tensor) => (tensor === null ? 0 : tensor._handle)));

/** Removes leading dimensions of size 1, as PyTorch does on assignment: they broadcast anyway. */
function withoutLeadingOnes(value: Tensor): Tensor {
  const { shape } = value;
  const first = shape.findIndex((size) => size !== 1);
  return first === 0 ? value : value.view(first < 0 ? [] : shape.slice(first));
}

/**
 * Writes a tensor, as PyTorch's assignment does. A value of another shape is filled in or expanded first: libtorch then accepts
 * one that is a part of what is written, as in `t[:] = t[0]`.
 */
function copyInto(chosen: Tensor, source: Tensor): void {
  const [to, from] = [chosen.shape, source.shape];
  if (to.length === from.length && to.every((size, i) => size === from[i])) chosen.copy_(source);
  else if (from.length === 0 && source.device === 'cpu') chosen.fill_(source);
  else chosen.copy_((from.length > to.length ? withoutLeadingOnes(source) : source).expandAs(chosen));
}

/** Copies lists first, so that user code run by reading them cannot run between the ops. */
const readIndex = (index: Index): Index => (index instanceof Slice ? index : (readValue(index) as Index));

/** The elements that `indices` select: a view if no index is a tensor, else a copy. */
export function at(self: Tensor, indices: readonly Index[]): Tensor {
  const read = indices.map(readIndex);
  const found = quick(self, read);
  if (found !== undefined && found.advanced.length === 0) return found.view === self ? self.alias() : found.view;
  if (found !== undefined) {
    try {
      return wrap(f[indexRow()]!(found.view._handle, handlesOf(found.advanced)))!;
    } finally {
      release(found, self);
    }
  }
  return ownScope(() => {
    const { view: chosen, advanced } = view('at', self, read);
    if (advanced.length > 0) return chosen.index(advanced);
    return chosen === self ? self.alias() : chosen;
  });
}

/** Frees a view of quick(), which no scope of this file owns. */
function release({ view: made }: Chosen, self: Tensor): void {
  if (made !== self) made.dispose();
}

/** Writes a value into what was chosen of `self`. */
function write(self: Tensor, { view: chosen, advanced, isQuick }: Chosen, value: unknown): void {
  const source = isTensor(value) ? value : undefined;
  if (source === undefined && !['number', 'bigint', 'boolean'].includes(typeof value) && !isComplex(value)) {
    const hint = Array.isArray(value) || ArrayBuffer.isView(value) ? '; torch.tensor(data) makes one' : '';
    throw misfit('set', 'value', 'a Tensor, number, bigint, boolean or complex', value, hint);
  }
  if (source !== undefined) requireLive('set', 'value', source);
  if (advanced.length > 0) {
    const filled = source ? withoutLeadingOnes(source).to(self.dtype) : self.newFull([], value as number);
    if (isQuick && isGenuine(filled)) f[indexPutRow()]!(chosen._handle, handlesOf(advanced), filled._handle, false);
    else chosen.indexPut_(advanced, filled);
  } else if (source !== undefined) copyInto(chosen, source);
  else chosen.fill_(value as number);
}

/** Writes `value` (a number, bigint, boolean, complex or a tensor that broadcasts) into the chosen elements. */
export function set(self: Tensor, indices: Index | readonly Index[], given: unknown): Tensor {
  const read = readIndex(indices as Index);
  const list = Array.isArray(read) ? (read as readonly Index[]) : [read];
  const value = readValue(given);
  requireLive('set', 'self', self);
  if (self.layout !== 'strided') {
    // What select() gives of a sparse tensor is a copy, so that nothing would be written.
    throw refusal('set', 'self', 'a strided tensor', `one of the layout ${self.layout}, which cannot be assigned to`);
  }
  const found = quick(self, list);
  try {
    if (found !== undefined && found.advanced.length === 0 && typeof value === 'number') found.view.fill_(value);
    else ownScope(() => write(self, found ?? view('set', self, list), value));
  } finally {
    if (found !== undefined) release(found, self);
  }
  return self;
}
