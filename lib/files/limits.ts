/**
 * Limits on what a file may expand to: a few bytes of a zip or a pickle can request any amount of memory. Each archive has
 * one budget, and everything created from it is charged to that budget. The defaults scale with the file's actual size, so
 * large files load without options.
 */
import { argumentError } from '../errors/errors';

export interface LoadLimits {
  /** The maximum size in bytes of all entries together after unpacking (default: 256 MiB plus 16 times the file's size). */
  maxBytes?: number | undefined;
  /** The maximum number of tensors (default: 16,384 plus one for every 64 bytes of the file). */
  maxTensors?: number | undefined;
  /**
   * The maximum number of lists, tuples, dictionaries and other objects (default: 262,144 plus one for every byte of the file,
   * at most 4,000,000). With Infinity, numeric keys are not limited either.
   */
  maxObjects?: number | undefined;
  /** The maximum nesting of lists and dictionaries (default: 1,000). */
  maxDepth?: number | undefined;
}

export const limitNames = ['maxBytes', 'maxTensors', 'maxObjects', 'maxDepth'] as const;

/** The limits among validated options. */
export const limitsOf = ({ maxBytes, maxTensors, maxObjects, maxDepth }: LoadLimits): LoadLimits => ({
  maxBytes,
  maxTensors,
  maxObjects,
  maxDepth,
});

/** The default limits: a base, plus an amount in proportion to the file's size. */
const BASE_BYTES = 256 * 2 ** 20;
const MAX_RATIO = 16;
const BASE_TENSORS = 16_384;
const BYTES_OF_TENSOR = 64;
const BASE_OBJECTS = 262_144;
const MAX_OBJECTS = 4_000_000;
/** Also the most levels that `save` writes. */
export const DEFAULT_DEPTH = 1000;
/** Instructions of a pickle plus the elements that they copy: each may take eight bytes or more. */
const BASE_STEPS = 4_000_000;
const MAX_STEPS = 100_000_000;
/** Keys that lookups may probe in all Maps and Sets of an archive: about a second for a file made to collide. */
const MAX_LOOKUPS = 2 ** 27;

function limit(fn: string, name: keyof LoadLimits, given: LoadLimits, usual: number): number {
  const value = given[name];
  if (value === undefined) return usual;
  if (typeof value === 'number' && value >= 0) return value;
  throw argumentError(fn, name, name === 'maxBytes' ? 'a number of bytes, 0 or more' : 'a number, 0 or more', value);
}

/** The remaining limits of one archive. Throws `fail(…)` when a limit is exceeded. */
export class Budget {
  readonly maxDepth: number;
  readonly #fail: (what: string) => Error;
  readonly #bytes: number;
  readonly #tensors: number;
  readonly #objects: number;
  readonly #steps: number;
  readonly #lookups: number;
  #unpacked = 0;
  #tensorsMade = 0;
  #objectsMade = 0;
  #stepsMade = 0;
  #lookupsMade = 0;

  /** `size`: bytes in the file. */
  constructor(fn: string, given: LoadLimits, size: number, fail: (what: string) => Error) {
    this.#fail = fail;
    this.#bytes = limit(fn, 'maxBytes', given, BASE_BYTES + MAX_RATIO * size);
    this.#tensors = limit(fn, 'maxTensors', given, BASE_TENSORS + Math.floor(size / BYTES_OF_TENSOR));
    this.#objects = limit(fn, 'maxObjects', given, Math.min(MAX_OBJECTS, BASE_OBJECTS + size));
    this.maxDepth = limit(fn, 'maxDepth', given, DEFAULT_DEPTH);
    this.#steps = Math.min(MAX_STEPS, Math.max(BASE_STEPS + size, this.#objects));
    this.#lookups = this.#objects === Number.POSITIVE_INFINITY ? this.#objects : MAX_LOOKUPS;
  }

  /** Charges bytes that are unpacked or read again. */
  unpack(bytes: number): void {
    this.#unpacked += bytes;
    if (this.#unpacked <= this.#bytes) return;
    throw this.#fail(`expected at most ${this.#bytes} bytes unpacked (maxBytes), got ${this.#unpacked} or more`);
  }

  tensor(): void {
    if (++this.#tensorsMade > this.#tensors)
      throw this.#fail(`expected at most ${this.#tensors} tensors (maxTensors), got more`);
  }

  /** Charges an object, which takes much more memory than its byte in the file. */
  object(): void {
    if (++this.#objectsMade > this.#objects) {
      throw this.#fail(
        `expected at most ${this.#objects} lists, dictionaries and other objects (maxObjects), got more`,
      );
    }
  }

  /** Charges instructions, or elements that an instruction copies or inspects. */
  step(count = 1): void {
    this.#stepsMade += count;
    if (this.#stepsMade > this.#steps) throw this.#fail(`expected at most ${this.#steps} instructions, got more`);
  }

  /** Charges the keys of a Map or a Set that a lookup may probe. */
  lookup(probed: number): void {
    this.#lookupsMade += probed;
    if (this.#lookupsMade <= this.#lookups) return;
    throw this.#fail(
      'its keys may be chosen to collide: too many numeric keys outside 0 to n (maxObjects: Infinity allows them)',
    );
  }

  /** The error for values nested beyond `maxDepth`. */
  tooDeep(): Error {
    return this.#fail(`expected at most ${this.maxDepth} levels of nesting (maxDepth), got more`);
  }
}
