/** torch.utils.data's samplers: PyTorch's order for the same seed and generator. */

import { byName } from '../addon/options';
import { ops } from '../autograd/tuples';
import { tensor as makeTensor } from '../elements/create';
import { upTo } from '../errors/arity';
import { argumentError, refusal } from '../errors/errors';
import { keep } from '../lifetimes/movable';
import { ownScope } from '../lifetimes/scope';
import { tensors } from '../lifetimes/walk';
import { isTensor, type Tensor } from '../tensor/tensor';
import { countOf, flagOf, type Generator, generatorOf, lengthOf } from './arguments';
import { valuesOf } from './iteration';
import { type Chunk, Draws, drawing, numbersOf } from './order';

type Sized = { readonly length: number };

/** The base of samplers: an iterable of indices, or of lists of them, with a `length` if that is known. */
export abstract class Sampler<T = number> implements Iterable<T> {
  abstract [Symbol.iterator](): Iterator<T>;
  /** For scopes: a sampler has no tensors of a scope. */
  get [tensors](): unknown {
    return [];
  }
}

/** A sampler that gives its indices in chunks. */
export abstract class ChunkSampler extends Sampler {
  abstract get length(): number;
  /** @internal */
  abstract _chunks(draws: Draws): Iterator<Chunk | null>;
  /** @internal What it draws from; null is the default generator. */
  _generator: Generator | null = null;
  /** @internal Whether the order is drawn. */
  get _isRandom(): boolean {
    return true;
  }

  *[Symbol.iterator](): Iterator<number> {
    const draws = new Draws();
    let last: Chunk | null = null;
    try {
      const chunks = this._chunks(draws);
      for (let step = chunks.next(); !step.done; step = chunks.next()) {
        last?.free();
        last = step.value as Chunk;
        const list = last.list(0, last.length);
        for (const index of list) yield index;
      }
    } finally {
      last?.free();
      draws.end();
    }
  }
}

/** 0, 1, … in this order. */
export class SequentialSampler extends ChunkSampler {
  readonly dataSource: Sized;

  constructor(dataSource: Sized);
  constructor(...passed: [dataSource: Sized]) {
    super();
    const [dataSource] = upTo('utils.data.SequentialSampler', 1, passed);
    lengthOf('utils.data.SequentialSampler', 'dataSource', dataSource);
    this.dataSource = dataSource;
  }
  get length(): number {
    return this.dataSource.length;
  }
  /** @internal */
  override get _isRandom(): boolean {
    return false;
  }
  /** @internal */
  *_chunks(draws: Draws): Iterator<Chunk | null> {
    yield draws.range(this.length);
  }
}

export interface RandomSamplerOptions {
  /** Draw each index from all indices. Default: false, a permutation. */
  replacement?: boolean | undefined;
  /** How many indices to draw. Default: the dataset's length. */
  numSamples?: number | null | undefined;
  generator?: Generator | null | undefined;
}

/** How many indices Python draws at once with replacement. */
const AT_ONCE = 32;

/** Indices in random order. */
export class RandomSampler extends ChunkSampler {
  readonly dataSource: Sized;
  readonly replacement: boolean;
  readonly #numSamples: number | null;

  constructor(dataSource: Sized, options?: RandomSamplerOptions);
  constructor(
    dataSource: Sized,
    replacement?: boolean,
    numSamples?: number | null,
    generator?: Generator | null | undefined,
  );
  constructor(dataSource: Sized, replacement: boolean, options: Omit<RandomSamplerOptions, 'replacement'>);
  constructor(...passed: unknown[]) {
    super();
    const fn = 'utils.data.RandomSampler';
    const given = byName(fn, ['dataSource', 'replacement', 'numSamples', 'generator'], 1, passed);
    this.dataSource = given.dataSource as Sized;
    lengthOf(fn, 'dataSource', this.dataSource);
    this.replacement = flagOf(fn, 'replacement', given.replacement, false);
    this.#numSamples = given.numSamples == null ? null : countOf(fn, 'numSamples', given.numSamples);
    this._generator = generatorOf(fn, given.generator);
    // As in Python.
    if (this.numSamples === 0) throw refusal(fn, 'dataSource', 'one sample or more', 'none');
  }

  /** The length of the dataset may change. */
  get numSamples(): number {
    return this.#numSamples ?? this.dataSource.length;
  }
  get generator(): Generator | null {
    return this._generator;
  }
  get length(): number {
    return this.numSamples;
  }

  /** @internal */
  *_chunks(draws: Draws): Iterator<Chunk | null> {
    const n = this.dataSource.length;
    const total = this.numSamples;
    const own = draws.fromSeeded(this._generator);
    if (this.replacement) {
      const some = (count: number) =>
        draws.draw((generator) => ops().randint!(n, [count], { dtype: 'int64', ...drawing(generator) }));
      // Another user of the generator may draw between Python's small draws.
      const size = own ? total : AT_ONCE;
      for (let i = 0; i < Math.floor(total / size); i++) yield some(size);
      if (total % size > 0) yield some(total % size);
      return;
    }
    const permuted = (length: number) =>
      draws.draw((generator) => ops().randperm!(n, { dtype: 'int64', ...drawing(generator) }), length);
    for (let i = 0; i < Math.floor(total / n); i++) yield permuted(n);
    // Python draws the last permutation also if it takes nothing of it.
    if (total % n > 0 || !own) yield permuted(total % n);
  }
}

export interface SubsetRandomSamplerOptions {
  generator?: Generator | null | undefined;
}

/** The given indices in random order. */
export class SubsetRandomSampler extends ChunkSampler {
  readonly indices: ArrayLike<number>;

  constructor(indices: ArrayLike<number> | Tensor, options?: SubsetRandomSamplerOptions);
  constructor(indices: ArrayLike<number> | Tensor, generator?: Generator | null | undefined);
  constructor(...passed: unknown[]) {
    super();
    const fn = 'utils.data.SubsetRandomSampler';
    const given = byName(fn, ['indices', 'generator'], 1, passed);
    const indices = given.indices as ArrayLike<number> | Tensor;
    lengthOf(fn, 'indices', indices);
    this.indices = isTensor(indices) ? numbersOf(indices) : indices;
    this._generator = generatorOf(fn, given.generator);
  }
  get generator(): Generator | null {
    return this._generator;
  }
  get length(): number {
    return this.indices.length;
  }
  /** @internal */
  *_chunks(draws: Draws): Iterator<Chunk | null> {
    draws.from(this._generator);
    const places = draws.draw((generator) =>
      ops().randperm!(this.indices.length, { dtype: 'int64', ...drawing(generator) }),
    );
    yield Draws.mapped(places, this.indices);
  }
}

export interface WeightedRandomSamplerOptions {
  /** Draw each index from all indices. Default: true. */
  replacement?: boolean | undefined;
  generator?: Generator | null | undefined;
}

/** Indices with given probabilities, which need not sum to 1. */
export class WeightedRandomSampler extends ChunkSampler {
  readonly weights: Tensor;
  readonly numSamples: number;
  readonly replacement: boolean;

  constructor(weights: ArrayLike<number> | Tensor, numSamples: number, options?: WeightedRandomSamplerOptions);
  constructor(
    weights: ArrayLike<number> | Tensor,
    numSamples: number,
    replacement?: boolean,
    generator?: Generator | null | undefined,
  );
  constructor(weights: ArrayLike<number> | Tensor, options: WeightedRandomSamplerOptions & { numSamples: number });
  constructor(...passed: unknown[]) {
    super();
    const fn = 'utils.data.WeightedRandomSampler';
    const given = byName(fn, ['weights', 'numSamples', 'replacement', 'generator'], 1, passed);
    this.numSamples = countOf(fn, 'numSamples', given.numSamples);
    this.replacement = flagOf(fn, 'replacement', given.replacement, true);
    this._generator = generatorOf(fn, given.generator);
    this.weights = keep(weightsOf(fn, given.weights));
  }
  get generator(): Generator | null {
    return this._generator;
  }
  get length(): number {
    return this.numSamples;
  }
  /** @internal */
  *_chunks(draws: Draws): Iterator<Chunk | null> {
    draws.from(this._generator);
    yield draws.draw((generator) =>
      ops().multinomial!(this.weights, this.numSamples, this.replacement, drawing(generator)),
    );
  }
}

/** In float64, and never the tensor itself. */
const copyOf = (given: Tensor): Tensor => ownScope(() => given.detach().to('float64').clone() as Tensor);

const weightOf =
  (fn: string) =>
  (value: unknown, i: number): number => {
    if (typeof value === 'number' || typeof value === 'bigint') return Number(value);
    throw argumentError(fn, `weights[${i}]`, 'a number', value);
  };

function weightsOf(fn: string, given: unknown): Tensor {
  if (!isTensor(given)) lengthOf(fn, 'weights', given);
  const weights = isTensor(given)
    ? copyOf(given)
    : (makeTensor(Array.from(given as ArrayLike<number>, weightOf(fn)), { dtype: 'float64' }) as Tensor);
  if (weights.ndim === 1) return weights;
  weights.dispose();
  throw argumentError(fn, 'weights', 'a list of numbers or a tensor of 1 dimension', given);
}

export interface BatchSamplerOptions {
  /** Leave out the last batch if it is smaller. */
  dropLast: boolean;
}

/** Lists of `batchSize` indices of another sampler. */
export class BatchSampler extends Sampler<number[]> {
  readonly sampler: Iterable<number> & Partial<Sized>;
  readonly batchSize: number;
  readonly dropLast: boolean;

  constructor(sampler: Iterable<number>, batchSize: number, options: BatchSamplerOptions);
  constructor(sampler: Iterable<number>, batchSize: number, dropLast: boolean);
  constructor(sampler: Iterable<number>, options: BatchSamplerOptions & { batchSize: number });
  constructor(...passed: unknown[]) {
    super();
    const fn = 'utils.data.BatchSampler';
    const given = byName(fn, ['sampler', 'batchSize', 'dropLast'], 1, passed);
    this.sampler = given.sampler as Iterable<number>;
    if (
      typeof given.sampler === 'string' ||
      typeof (given.sampler as Iterable<number> | undefined)?.[Symbol.iterator] !== 'function'
    ) {
      throw argumentError(fn, 'sampler', 'an iterable of indices', given.sampler);
    }
    this.batchSize = countOf(fn, 'batchSize', given.batchSize);
    if (typeof given.dropLast !== 'boolean') throw argumentError(fn, 'dropLast', 'a boolean', given.dropLast);
    this.dropLast = given.dropLast;
  }

  /** The number of batches; undefined for a sampler without a length. */
  get length(): number | undefined {
    return numberOfBatches(this.sampler.length, this.batchSize, this.dropLast);
  }

  [Symbol.iterator](): Iterator<number[]> {
    return batched('utils.data.BatchSampler', this.sampler, this.batchSize, this.dropLast);
  }
}

/** Lists of `size` indices of a sampler, which is the argument `sampler` of `fn`. */
export function* batched(
  fn: string,
  sampler: Iterable<number>,
  size: number,
  dropLast: boolean,
): globalThis.Generator<number[], void, undefined> {
  let batch: number[] = [];
  for (const index of valuesOf(fn, 'sampler', sampler)) {
    if (batch.push(index) < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0 && !dropLast) yield batch;
}

export function numberOfBatches(samples: number | undefined, size: number, dropLast: boolean): number | undefined {
  return samples === undefined ? undefined : dropLast ? Math.floor(samples / size) : Math.ceil(samples / size);
}
