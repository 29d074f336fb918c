/** torch.utils.data's datasets. */

import type { Parts } from '../../types/base';
import { byName } from '../addon/options';
import { ops, refuseRecording } from '../autograd/tuples';
import { warn } from '../call/warnings';
import { upTo } from '../errors/arity';
import { argumentError } from '../errors/errors';
import { tensors } from '../lifetimes/walk';
import { isTensor, type Tensor } from '../tensor/tensor';
import { demandIndices, type Generator, generatorOf, lengthOf, placeOf } from './arguments';
import type { Rows } from './batch-types';
import type { SampleContext } from './context';
import { drawing, type Indices, Listed, numbersOf } from './order';
import { readEach } from './read-each';

/** What a DataLoader reads by index. An array is one too, and so are the rows of a tensor. */
export interface MapDataset<T = any> {
  readonly length: number;
  getItem(index: number, context?: SampleContext): T | PromiseLike<T>;
  getItems?(indices: number[], contexts?: SampleContext[]): unknown;
}

/** What a DataLoader reads in order. */
export type AnyIterable<T = any> = Iterable<T> | AsyncIterable<T>;

/**
 * The base of datasets that are read by index: a `length`, and `getItem(index, context)`. Optional: `getItems(indices,
 * contexts)` gives a list of samples, or anything but an array as the whole batch.
 */
export abstract class Dataset<T = any> implements MapDataset<T> {
  abstract readonly length: number;
  abstract getItem(index: number, context?: SampleContext): T | PromiseLike<T>;
  getItems?(indices: number[], contexts?: SampleContext[]): unknown;
  /** For scopes: the tensors of a dataset are those that a class of the program declares. */
  get [tensors](): unknown {
    return [];
  }
}

/** The base of datasets that are read in order: an iterator, or an asynchronous one. Optional: a `length`. */
export abstract class IterableDataset<T = any> {
  declare readonly length?: number;
  [Symbol.asyncIterator]?(): AsyncIterator<T>;
  [Symbol.iterator]?(): Iterator<T>;
  get [tensors](): unknown {
    return [];
  }
}

/** Lists that are whole batches, where a list of samples is expected otherwise. */
const batches = new WeakSet<object>();
export const isBatch = (value: object): boolean => batches.has(value);
export function asBatch<T extends object>(list: T): T {
  batches.add(list);
  return list;
}

/** The rows of tensors of one length: sample i is `[a[i], b[i], …]`. */
export class TensorDataset<T extends readonly Tensor[] = Tensor[]> extends Dataset<Rows<T>> {
  readonly tensors: T;

  constructor(...given: T) {
    super();
    const fn = 'utils.data.TensorDataset';
    if (given.length === 0) throw argumentError(fn, 'tensors', 'one Tensor or more', undefined);
    given.forEach((one, i) => {
      if (!isTensor(one)) throw argumentError(fn, `tensors[${i}]`, 'a Tensor', one);
      const rows = given[0]!.shape[0];
      if (one.ndim === 0 || one.shape[0] !== rows) {
        const expected = rows === undefined ? 'a Tensor of 1 dimension or more' : `a Tensor of ${rows} rows`;
        throw argumentError(fn, `tensors[${i}]`, expected, one);
      }
    });
    this.tensors = given;
  }

  get length(): number {
    return this.tensors[0]!.shape[0]!;
  }
  getItem(index: number): Rows<T> {
    return this.tensors.map((one) => one.select(0, index)) as unknown as Rows<T>;
  }
  /** The batch of these rows: one `indexSelect` for each tensor. */
  override getItems(indices: number[]): Rows<T> {
    const fn = 'utils.data.TensorDataset';
    demandIndices(fn, indices);
    return this._rows(new Listed(Array.from(indices, (index) => placeOf(fn, this.length, index))));
  }
  /** @internal */
  _rows(indices: Indices): Rows<T> {
    return asBatch(indices.rows(this.tensors)) as unknown as Rows<T>;
  }
  override get [tensors](): unknown {
    return this.tensors;
  }
}

/** Samples of a dataset, by their indices. */
export class Subset<T = any> extends Dataset<T> {
  readonly dataset: MapDataset<T>;
  readonly indices: ArrayLike<number>;

  constructor(dataset: MapDataset<T> | readonly T[] | Tensor, indices: ArrayLike<number> | Tensor);
  constructor(...passed: [dataset: MapDataset<T> | readonly T[] | Tensor, indices: ArrayLike<number> | Tensor]) {
    super();
    const [dataset, indices] = upTo('utils.data.Subset', 2, passed);
    const fn = 'utils.data.Subset';
    this.dataset = mapDatasetOf(fn, dataset);
    lengthOf(fn, 'indices', indices);
    this.indices = isTensor(indices) ? numbersOf(indices) : (indices as ArrayLike<number>);
  }

  get length(): number {
    return this.indices.length;
  }
  getItem(index: number, context?: SampleContext): T | PromiseLike<T> {
    return this.dataset.getItem(placeIn(this.indices, index), context);
  }
  override getItems(indices: number[], contexts?: SampleContext[]): unknown {
    demandIndices('utils.data.Subset', indices);
    const places = Array.from(indices, (index) => placeIn(this.indices, index));
    if (typeof this.dataset.getItems === 'function') return this.dataset.getItems(places, contexts);
    return readEach(places.length, (i) => this.dataset.getItem(places[i]!, contexts?.[i]));
  }
  override get [tensors](): unknown {
    return [this.dataset];
  }
}

export function placeIn(indices: ArrayLike<number>, index: number): number {
  return indices[placeOf('utils.data.Subset', indices.length, index)]!;
}

/** Datasets one after the other. */
export class ConcatDataset<T = any> extends Dataset<T> {
  readonly datasets: readonly MapDataset<T>[];
  /** The index after the last sample of each dataset. */
  readonly cumulativeSizes: readonly number[];

  constructor(datasets: Iterable<MapDataset<T> | readonly T[] | Tensor>);
  constructor(datasets: Iterable<MapDataset | readonly any[] | Tensor>);
  constructor(...passed: [datasets: Iterable<MapDataset | readonly any[] | Tensor>]) {
    super();
    const [datasets] = upTo('utils.data.ConcatDataset', 1, passed);
    const fn = 'utils.data.ConcatDataset';
    if (typeof (datasets as Iterable<unknown> | undefined)?.[Symbol.iterator] !== 'function') {
      throw argumentError(fn, 'datasets', 'a list of datasets', datasets);
    }
    this.datasets = [...datasets].map((one, i) => mapDatasetOf(fn, one, `datasets[${i}]`));
    if (this.datasets.length === 0) throw argumentError(fn, 'datasets', 'one dataset or more', datasets);
    let sum = 0;
    this.cumulativeSizes = this.datasets.map(({ length }) => {
      sum += length;
      return sum;
    });
  }

  get length(): number {
    return this.cumulativeSizes.at(-1)!;
  }
  getItem(index: number, context?: SampleContext): T | PromiseLike<T> {
    const at = placeOf('utils.data.ConcatDataset', this.length, index);
    const which = this.cumulativeSizes.findIndex((end) => at < end);
    return this.datasets[which]!.getItem(at - (which === 0 ? 0 : this.cumulativeSizes[which - 1]!), context);
  }
  override get [tensors](): unknown {
    return this.datasets;
  }
}

/** Iterable datasets one after the other. */
export class ChainDataset<T = any> extends IterableDataset<T> {
  readonly datasets: readonly AnyIterable<T>[];

  constructor(datasets: Iterable<AnyIterable<T>>);
  constructor(datasets: Iterable<AnyIterable>);
  constructor(...passed: [datasets: Iterable<AnyIterable>]) {
    super();
    const [datasets] = upTo('utils.data.ChainDataset', 1, passed);
    const fn = 'utils.data.ChainDataset';
    if (!isIterable(datasets) || !isSync(datasets)) {
      throw argumentError(fn, 'datasets', 'a list of iterable datasets', datasets);
    }
    this.datasets = [...datasets];
    this.datasets.forEach((one, i) => {
      if (!isIterable(one)) throw argumentError(fn, `datasets[${i}]`, 'an iterable dataset', one);
    });
    // A chain is synchronous if all its parts are.
    if (!this.datasets.every(isSync)) this[Symbol.iterator] = undefined as never;
  }

  override async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for (const one of this.datasets) yield* one as AsyncIterable<T>;
  }
  override *[Symbol.iterator](): Iterator<T> {
    for (const one of this.datasets) yield* one as Iterable<T>;
  }
  override get [tensors](): unknown {
    return this.datasets.filter((one) => tensors in (one as object));
  }
}

const isSync = (value: unknown): boolean =>
  typeof (value as Partial<Iterable<unknown>> | null | undefined)?.[Symbol.iterator] === 'function';
export const isIterable = (value: unknown): value is AnyIterable =>
  (isSync(value) && typeof value !== 'string') ||
  typeof (value as Partial<AsyncIterable<unknown>> | null | undefined)?.[Symbol.asyncIterator] === 'function';

/** An array as a dataset. */
export class ArrayDataset<T> extends Dataset<T> {
  constructor(readonly samples: readonly T[]) {
    super();
  }
  get length(): number {
    return this.samples.length;
  }
  getItem(index: number): T {
    return this.samples[placeOf('utils.data.DataLoader', this.samples.length, index)]!;
  }
}

/** The rows of a tensor, as Python's tensors are datasets. */
export class RowDataset extends Dataset<Tensor> {
  constructor(readonly rows: Tensor) {
    super();
  }
  get length(): number {
    return this.rows.shape[0]!;
  }
  getItem(index: number): Tensor {
    return this.rows.select(0, index) as Tensor;
  }
  /** The batch of these rows: one `indexSelect`. */
  override getItems(indices: number[]): Tensor {
    return this._rows(new Listed(indices));
  }
  /** @internal */
  _rows(indices: Indices): Tensor {
    return indices.rows([this.rows])[0]!;
  }
  override get [tensors](): unknown {
    return [this.rows];
  }
}
export const hasRows = (value: unknown): value is Tensor => isTensor(value) && value.ndim > 0;

export const isMapDataset = (value: unknown): value is MapDataset =>
  typeof (value as MapDataset | null | undefined)?.getItem === 'function';

export function mapDatasetOf<T>(fn: string, dataset: unknown, name = 'dataset'): MapDataset<T> {
  if (Array.isArray(dataset)) return new ArrayDataset<T>(dataset);
  if (hasRows(dataset)) return new RowDataset(dataset) as Dataset<any>;
  if (!isMapDataset(dataset)) throw argumentError(fn, name, 'an object with getItem(index) and a length', dataset);
  lengthOf(fn, name, dataset);
  return dataset;
}

export interface RandomSplitOptions {
  generator?: Generator | null | undefined;
}

/** math.isclose(sum, 1) and sum <= 1 */
const areFractions = (sum: number) => sum <= 1 && 1 - sum <= 1e-9;

function sizesOf(fn: string, lengths: readonly number[], total: number): number[] {
  const sum = lengths.reduce((a, b) => a + b, 0);
  if (!areFractions(sum)) return [...lengths];
  const sizes = lengths.map((part, i) => {
    if (part >= 0 && part <= 1) return Math.floor(total * part);
    throw argumentError(fn, `lengths[${i}]`, 'a fraction from 0 to 1', part);
  });
  const rest = total - sizes.reduce((a, b) => a + b, 0);
  for (let i = 0; i < rest; i++) sizes[i % sizes.length]!++;
  sizes.forEach((size, i) => {
    if (size === 0) warn(`${fn}: the split at index ${i} has no samples`);
  });
  return sizes;
}

/** Splits a dataset at random into parts of these lengths, or of these fractions: PyTorch's parts for the same generator. */
export function randomSplit<T = any>(
  dataset: MapDataset<T> | readonly T[] | Tensor,
  lengths: Iterable<number>,
  options?: RandomSplitOptions,
): Parts<Subset<T>>;
export function randomSplit<T = any>(
  dataset: MapDataset<T> | readonly T[] | Tensor,
  lengths: Iterable<number>,
  generator?: Generator | null | undefined,
): Parts<Subset<T>>;
export function randomSplit(...passed: unknown[]): Subset[] {
  const fn = 'utils.data.randomSplit';
  refuseRecording(fn);
  const given = byName(fn, ['dataset', 'lengths', 'generator'], 2, passed);
  const dataset = mapDatasetOf(fn, given.dataset);
  const lengths = given.lengths as Iterable<number>;
  if (typeof lengths?.[Symbol.iterator] !== 'function') {
    throw argumentError(fn, 'lengths', 'a list of lengths or fractions', lengths);
  }
  const parts = [...lengths];
  parts.forEach((part, i) => {
    if (typeof part !== 'number' || !(part >= 0))
      throw argumentError(fn, `lengths[${i}]`, 'a number of 0 or more', part);
  });
  const total = dataset.length;
  const sizes = sizesOf(fn, parts, total);
  const sum = sizes.reduce((a, b) => a + b, 0);
  if (sum !== total || !sizes.every(Number.isInteger)) {
    throw argumentError(fn, 'lengths', `lengths with the sum ${total}, or fractions with the sum 1`, parts);
  }
  const order = permutation(total, generatorOf(fn, given.generator));
  let at = 0;
  return sizes.map((size) => {
    at += size;
    return new Subset(dataset, order.slice(at - size, at));
  });
}

function permutation(n: number, generator: Generator | null): number[] {
  const drawn = ops().randperm!(n, { dtype: 'int64', ...drawing(generator) });
  try {
    return Array.from(numbersOf(drawn));
  } finally {
    drawn.dispose();
  }
}
