/** The order of samples: chunks of indices, drawn as Python draws them, and what continues an order in another process. */

import { native } from '../addon/native';
import { ops } from '../autograd/tuples';
import { classes } from '../call/classes';
import { fromTypedArray, tensor } from '../elements/create';
import { codedError, describe } from '../errors/errors';
import { keep } from '../lifetimes/movable';
import { type Tensor, wrap } from '../tensor/tensor';
import type { Generator } from './arguments';

/** The indices of one batch. */
export interface Indices {
  readonly count: number;
  list(): number[];
  /** The rows of tensors, copied. */
  rows(tensors: readonly Tensor[]): Tensor[];
}

/** What a sampler gives at once. */
export interface Chunk {
  readonly length: number;
  readonly draw: Draw;
  list(from: number, to: number): number[];
  rows(tensors: readonly Tensor[], from: number, to: number): Tensor[];
  free(): void;
}

/** The drawing of a chunk: what repeats it. */
export interface Draw {
  readonly number: number;
  /** The state of the generator before the drawing; null for a chunk without random numbers. */
  readonly before: Uint8Array | null;
  /** The program's generator that it was drawn from; null for others. */
  readonly from: Generator | null;
  next: Draw | null;
}

/** Where an order is to be continued. */
export interface Start {
  readonly chunk: number;
  readonly random: Uint8Array | null;
}

/** `make` for each tensor; those made are released if it throws. */
function each(tensors: readonly Tensor[], make: (tensor: Tensor) => Tensor): Tensor[] {
  const made: Tensor[] = [];
  let all = false;
  try {
    for (const one of tensors) made.push(make(one));
    all = true;
    return made;
  } finally {
    if (!all) for (const one of made) one.dispose();
  }
}

/** The rows of tensors, each on its own device; the indices are released. */
function selected(tensors: readonly Tensor[], indices: Tensor): Tensor[] {
  const placed = new Map([[indices.device, indices]]);
  try {
    return each(tensors, (one) => {
      const places = placed.get(one.device) ?? (indices.to(one.device) as Tensor);
      placed.set(one.device, places);
      return one.indexSelect(0, places) as Tensor;
    });
  } finally {
    for (const places of placed.values()) places.dispose();
  }
}

/** Indices in a JavaScript list. */
export class Listed implements Indices {
  constructor(readonly indices: number[]) {}
  get count(): number {
    return this.indices.length;
  }
  list(): number[] {
    return this.indices;
  }
  rows(tensors: readonly Tensor[]): Tensor[] {
    const length = tensors[0]?.shape[0] ?? 0;
    const places = this.indices.map((index) => (index < 0 && index >= -length ? length + index : index));
    return selected(tensors, tensor(places, { dtype: 'int64' }) as Tensor);
  }
}

/** A part of a chunk, which is used before the chunk is freed. */
export class Part implements Indices {
  constructor(
    readonly chunk: Chunk,
    readonly from: number,
    readonly to: number,
  ) {}
  get count(): number {
    return this.to - this.from;
  }
  list(): number[] {
    return this.chunk.list(this.from, this.to);
  }
  rows(tensors: readonly Tensor[]): Tensor[] {
    return this.chunk.rows(tensors, this.from, this.to);
  }
}

/** 0 to length - 1. */
class Range implements Chunk {
  constructor(
    readonly length: number,
    readonly draw: Draw,
  ) {}
  list(from: number, to: number): number[] {
    return Array.from({ length: to - from }, (_, i) => from + i);
  }
  rows(tensors: readonly Tensor[], from: number, to: number): Tensor[] {
    return each(tensors, (one) => {
      const view = one.narrow(0, from, to - from) as Tensor;
      try {
        return view.clone() as Tensor; // the program may write into a batch
      } finally {
        view.dispose();
      }
    });
  }
  free(): void {}
}

/** Indices in a tensor. */
class Drawn implements Chunk {
  #list: ArrayLike<number> | null = null;
  constructor(
    readonly indices: Tensor,
    readonly length: number,
    readonly draw: Draw,
  ) {}
  list(from: number, to: number): number[] {
    this.#list ??= numbersOf(this.indices);
    const list = this.#list;
    return Array.from({ length: to - from }, (_, i) => list[from + i]!);
  }
  rows(tensors: readonly Tensor[], from: number, to: number): Tensor[] {
    return selected(tensors, this.indices.narrow(0, from, to - from) as Tensor);
  }
  free(): void {
    this.indices.dispose();
  }
}

/** Drawn places in a list of the program. */
class Mapped implements Chunk {
  constructor(
    readonly inner: Chunk,
    readonly of: ArrayLike<number>,
  ) {}
  get length(): number {
    return this.inner.length;
  }
  get draw(): Draw {
    return this.inner.draw;
  }
  list(from: number, to: number): number[] {
    return this.inner.list(from, to).map((place) => this.of[place]!);
  }
  rows(tensors: readonly Tensor[], from: number, to: number): Tensor[] {
    return new Listed(this.list(from, to)).rows(tensors);
  }
  free(): void {
    this.inner.free();
  }
}

/** The elements of an int64 tensor as numbers: indices are exact in float64. */
export function numbersOf(indices: Tensor): ArrayLike<number> {
  const doubles = indices.to('float64') as Tensor;
  try {
    return doubles.toTypedArray() as Float64Array;
  } finally {
    doubles.dispose();
  }
}

function bytesOf(state: Tensor): Uint8Array {
  try {
    return state.toTypedArray() as Uint8Array;
  } finally {
    state.dispose();
  }
}

/** The state of a generator; null is the default one. */
export const stateOf = (generator: Generator | null): Uint8Array =>
  bytesOf((generator === null ? wrap(native.rngState())! : generator.getState()) as Tensor);

export function setState(generator: Generator, bytes: Uint8Array): void {
  const state = fromTypedArray(bytes);
  try {
    generator.setState(state);
  } finally {
    state.dispose();
  }
}

const newGenerator = (): Generator => new classes.Generator() as unknown as Generator;

/** Options of an op that draws. */
export const drawing = (generator: Generator | null): { generator?: Generator } =>
  generator === null ? {} : { generator };

/** `torch.empty((), dtype=torch.int64).random_(generator)`: how Python draws seeds. */
export function drawSeed(generator: Generator | null): bigint {
  const cell = ops().empty!([], { dtype: 'int64' });
  try {
    cell.random_(drawing(generator) as never);
    return BigInt(cell.item() as number | bigint);
  } finally {
    cell.dispose();
  }
}

/** The drawings of one pass of a sampler. */
export class Draws {
  #number = 0;
  #last: Draw | null = null;
  #generator: Generator | null = null;
  /** Made by this object: nobody else draws from it. */
  #own: Generator | null = null;
  readonly #start: Start | null;

  constructor(start: Start | null = null) {
    this.#start = start;
  }

  /** Sets what to draw from: null is the default generator. */
  from(generator: Generator | null): void {
    this.#generator = generator;
  }

  /** The same for a sampler that, without a generator, makes one with a drawn seed. Returns whether it made one. */
  fromSeeded(generator: Generator | null): boolean {
    this.#generator = generator;
    if (generator !== null) return false;
    this.#own = newGenerator();
    if (this.#start?.random == null) this.#own.manualSeed(drawSeed(null));
    return true;
  }

  /** Sets a generator with this seed, of which the drawings of one pass are the only user. */
  seeded(seed: number): void {
    this.#generator = null;
    this.#own = newGenerator();
    if (this.#start?.random == null) this.#own.manualSeed(seed);
  }

  /** A chunk of indices that `make` draws, the first `length` of them; null before the place to continue at. */
  draw(make: (generator: Generator | null) => Tensor, length?: number): Chunk | null {
    const number = this.#number++;
    const start = this.#start;
    if (start !== null && number < start.chunk) return null;
    if (start === null || number > start.chunk || start.random === null) {
      const source = this.#own ?? this.#generator;
      const draw = this.#note(number, stateOf(source));
      return this.#chunk(make(source), draw, length);
    }
    const draw = this.#note(number, start.random);
    if (this.#own !== null) {
      setState(this.#own, start.random);
      return this.#chunk(make(this.#own), draw, length);
    }
    // The program's generator is already past this drawing.
    const copy = newGenerator();
    try {
      setState(copy, start.random);
      return this.#chunk(make(copy), draw, length);
    } finally {
      copy.dispose();
    }
  }

  /** 0 to length - 1. */
  range(length: number): Chunk {
    return new Range(length, this.#note(this.#number++, null));
  }

  /** Indices in a tensor, without random numbers. */
  given(indices: Tensor): Chunk {
    return this.#chunk(indices, this.#note(this.#number++, null));
  }

  /** The elements of `of` at drawn places. */
  static mapped(places: Chunk | null, of: ArrayLike<number>): Chunk | null {
    return places === null ? null : new Mapped(places, of);
  }

  end(): void {
    this.#own?.dispose();
    this.#own = null;
  }

  #note(number: number, before: Uint8Array | null): Draw {
    const from = before === null || this.#own !== null ? null : this.#generator;
    const draw: Draw = { number, before, from, next: null };
    if (this.#last !== null) this.#last.next = draw;
    this.#last = draw;
    return draw;
  }

  #chunk(indices: Tensor, draw: Draw, length = indices.numel): Chunk {
    keep(indices); // it may outlive the scope in which the batch is asked for
    return new Drawn(indices, length, draw);
  }
}

export function fromBase64(fn: string, text: unknown): Uint8Array {
  const bytes = typeof text === 'string' ? new Uint8Array(Buffer.from(text, 'base64')) : new Uint8Array(0);
  if (bytes.length > 0) return bytes;
  throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', `${fn}: expected the state of a generator, got ${describe(text)}`);
}

export const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
