/** The batches of indices of one pass, and where to continue it. */
import { argumentError } from '../errors/errors';
import { isTensor } from '../tensor/tensor';
import type { Generator } from './arguments';
import { valuesOf } from './iteration';
import { type Chunk, type Draw, Draws, type Indices, Listed, Part, type Start, stateOf } from './order';
import { BatchSampler, batched, ChunkSampler } from './samplers';

const FN = 'utils.data.DataLoader';

/** A place behind a batch, between the samples of a chunk. */
export interface Mark {
  readonly draw: Draw;
  readonly offset: number;
}

export interface Batch {
  readonly indices: Indices;
  /** Null for samplers of the program, which are iterated again. */
  readonly mark: Mark | null;
}

/** Where a pass is continued: behind `batches` batches; `start` and `offset` for a sampler that gives chunks. */
export interface Resume {
  readonly batches: number;
  readonly start: Start | null;
  readonly offset: number;
}

export interface Batches {
  next(): Batch | null;
  end(): void;
}

export interface Order {
  readonly sampler: Iterable<number> | null;
  readonly batchSampler: Iterable<ArrayLike<number>> | null;
  /** Null: each index is a batch. */
  readonly batchSize: number | null;
  readonly dropLast: boolean;
}

/** The sampler that gives chunks, and the size of batches; null for samplers of the program. */
export function chunked(order: Order): { sampler: ChunkSampler; size: number; dropLast: boolean } | null {
  const { batchSampler } = order;
  const outer =
    batchSampler instanceof BatchSampler && batchSampler[Symbol.iterator] === BatchSampler.prototype[Symbol.iterator];
  if (batchSampler !== null && !outer) return null;
  const from = outer
    ? { sampler: batchSampler.sampler, size: batchSampler.batchSize, dropLast: batchSampler.dropLast }
    : { sampler: order.sampler, size: order.batchSize ?? 1, dropLast: order.dropLast };
  const { sampler } = from;
  // An iterator of the program's own class counts.
  if (!(sampler instanceof ChunkSampler) || sampler[Symbol.iterator] !== ChunkSampler.prototype[Symbol.iterator]) {
    return null;
  }
  return { ...from, sampler };
}

export function batchesOf(order: Order, resume: Resume | null): Batches {
  const built = chunked(order);
  if (built !== null) return new Chunked(built.sampler, built.size, built.dropLast, resume);
  const { batchSampler, sampler, batchSize, dropLast } = order;
  const skip = resume?.batches ?? 0;
  if (batchSampler === null) return new Lists(batched(FN, sampler!, batchSize ?? 1, dropLast), skip, 'sampler');
  return new Lists(valuesOf(FN, 'batchSampler', batchSampler), skip, 'batchSampler');
}

class Chunked implements Batches {
  readonly #draws: Draws;
  readonly #chunks: Iterator<Chunk | null>;
  #chunk: Chunk | null = null;
  #at: number;
  #ended = false;

  constructor(
    sampler: ChunkSampler,
    readonly size: number,
    readonly dropLast: boolean,
    resume: Resume | null,
  ) {
    this.#draws = new Draws(resume?.start ?? null);
    this.#chunks = sampler._chunks(this.#draws);
    this.#at = resume?.start == null ? 0 : resume.offset;
  }

  next(): Batch | null {
    if (this.#ended) return null;
    const chunk = this.#chunk;
    if (chunk !== null && chunk.length - this.#at >= this.size) return this.#take(chunk);
    const rest = this.#rest();
    while (rest.length === 0 || rest.length < this.size) {
      const next = this.#advance();
      if (next === null) break;
      if (rest.length === 0 && next.length - this.#at >= this.size) return this.#take(next);
      // One by one: a batch may have more indices than a call may have arguments.
      for (const index of this.#rest(this.size - rest.length)) rest.push(index);
    }
    if (rest.length === 0 || (this.dropLast && rest.length < this.size)) {
      this.end();
      return null;
    }
    return { indices: new Listed(rest), mark: this.#mark() };
  }

  /** The next indices of the chunk, at most `most`. */
  #rest(most = Number.POSITIVE_INFINITY): number[] {
    const chunk = this.#chunk;
    if (chunk === null) return [];
    const from = this.#at;
    this.#at = Math.min(chunk.length, from + most);
    return from === this.#at ? [] : chunk.list(from, this.#at);
  }

  #take(chunk: Chunk): Batch {
    const indices = new Part(chunk, this.#at, this.#at + this.size);
    this.#at += this.size;
    return { indices, mark: this.#mark() };
  }

  #mark(): Mark | null {
    return this.#chunk === null ? null : { draw: this.#chunk.draw, offset: this.#at };
  }

  /** The next chunk. A continued pass skips those before its start. */
  #advance(): Chunk | null {
    for (let step = this.#chunks.next(); !step.done; step = this.#chunks.next()) {
      const chunk = step.value;
      if (chunk === null) continue;
      const isFirst = this.#chunk === null;
      this.#chunk?.free();
      this.#chunk = chunk;
      if (!isFirst) this.#at = 0;
      if (this.#at > chunk.length) {
        throw argumentError(FN, 'state', `a state of this sampler, which has ${chunk.length} samples here`, this.#at);
      }
      return chunk;
    }
    return null;
  }

  end(): void {
    this.#ended = true;
    this.#chunk?.free();
    this.#chunk = null;
    this.#chunks.return?.();
    this.#draws.end();
  }
}

/** The indices of a list of the program, or null: what `Number` makes of null, true and '' would be an index, too. */
function indicesIn(value: unknown): number[] | null {
  if (typeof value !== 'object' || value === null || isTensor(value)) return null;
  const list: number[] = [];
  const { length } = value as ArrayLike<unknown>;
  const isIterable = typeof (value as Iterable<unknown>)[Symbol.iterator] === 'function';
  if (!isIterable && !Number.isSafeInteger(length)) return null;
  for (const one of isIterable ? (value as Iterable<unknown>) : elementsOf(value as ArrayLike<unknown>)) {
    const index = typeof one === 'bigint' ? Number(one) : one;
    if (!Number.isSafeInteger(index)) return null;
    list.push(index as number);
  }
  return list;
}

function* elementsOf(list: ArrayLike<unknown>): Iterable<unknown> {
  for (let i = 0; i < list.length; i++) yield list[i];
}

/** Batches of a sampler of the program. */
class Lists implements Batches {
  readonly #lists: globalThis.Generator<ArrayLike<number>, void, undefined>;
  #skip: number;

  constructor(
    lists: globalThis.Generator<ArrayLike<number>, void, undefined>,
    skip: number,
    readonly name: 'sampler' | 'batchSampler',
  ) {
    this.#lists = lists;
    this.#skip = skip;
  }

  next(): Batch | null {
    for (; this.#skip > 0; this.#skip--) if (this.#lists.next().done) return null;
    const step = this.#lists.next();
    if (step.done) return null;
    const list = indicesIn(step.value);
    if (list !== null && list.length > 0) return { indices: new Listed(list), mark: null };
    const expected = this.name === 'sampler' ? 'a sampler of integers' : 'lists of integers, none of them empty';
    throw argumentError(FN, this.name, expected, step.value);
  }

  end(): void {
    this.#lists.return();
  }
}

/** The state of a generator that, after the batch of `mark`, draws what follows; `generator` may be ahead of it. */
export function stateAt(mark: Mark | null, generator: Generator): Uint8Array {
  const next = mark?.draw.next ?? null;
  return next !== null && next.from === generator && next.before !== null ? next.before : stateOf(generator);
}
