/**
 * How much a file may become: a few bytes of a zip or of a pickle can ask for any amount of memory. Each archive has one
 * budget, which everything that is made of it is taken from. What is there by default follows from the bytes that the file
 * really has, so a file that is large by itself is loaded without a word.
 */
import { argumentError } from '../errors';

export interface LoadLimits {
  /** The most bytes of all entries when they are unpacked (default: 256 MiB and 16 times the file's size). */
  maxBytes?: number | undefined;
  /** The most tensors (default: 16,384 and one for every 64 bytes of the file). */
  maxTensors?: number | undefined;
  /** The most lists, tuples, dictionaries and other objects (default: 262,144 and one for every byte of the file, at most 4,000,000). Infinity also takes any numbers as keys. */
  maxObjects?: number | undefined;
  /** The most levels of lists and dictionaries in each other (default: 1,000). */
  maxDepth?: number | undefined;
}

export const limitNames = ['maxBytes', 'maxTensors', 'maxObjects', 'maxDepth'] as const;

/** The limits among options that are known to be there. */
export const limitsOf = ({ maxBytes, maxTensors, maxObjects, maxDepth }: LoadLimits): LoadLimits => ({
  maxBytes,
  maxTensors,
  maxObjects,
  maxDepth,
});

const UNPACKED = 256 * 2 ** 20;
const MOST_TIMES = 16;
const TENSORS = 16_384;
const BYTES_OF_TENSOR = 64;
const OBJECTS = 262_144;
const MOST_OBJECTS = 4_000_000;
const DEPTH = 1000;
/** Instructions of a pickle, and elements that they copy: each may take eight bytes or more. */
const STEPS = 4_000_000;
const MOST_STEPS = 100_000_000;
/** Keys that lookups may pass in all Maps and Sets of an archive: about a second, if it is made for that. */
const LOOKUPS = 2 ** 27;

function limit(fn: string, name: keyof LoadLimits, given: LoadLimits, usual: number): number {
  const value = given[name];
  if (value === undefined) return usual;
  if (typeof value === 'number' && value >= 0) return value;
  throw argumentError(fn, name, 'a number, 0 or more', value);
}

/** What is left of one archive's limits. Throws what `fail` makes of the first that is passed. */
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

  /** `size`: bytes of the file. */
  constructor(fn: string, given: LoadLimits, size: number, fail: (what: string) => Error) {
    this.#fail = fail;
    this.#bytes = limit(fn, 'maxBytes', given, UNPACKED + MOST_TIMES * size);
    this.#tensors = limit(fn, 'maxTensors', given, TENSORS + Math.floor(size / BYTES_OF_TENSOR));
    this.#objects = limit(fn, 'maxObjects', given, Math.min(MOST_OBJECTS, OBJECTS + size));
    this.maxDepth = limit(fn, 'maxDepth', given, DEPTH);
    this.#steps = Math.min(MOST_STEPS, Math.max(STEPS + size, this.#objects));
    this.#lookups = this.#objects === Number.POSITIVE_INFINITY ? this.#objects : LOOKUPS;
  }

  /** Bytes that are unpacked, or read again. */
  unpack(bytes: number): void {
    this.#unpacked += bytes;
    if (this.#unpacked <= this.#bytes) return;
    throw this.#fail(`it unpacks to ${this.#unpacked} bytes or more, at most ${this.#bytes} are allowed (maxBytes)`);
  }

  tensor(): void {
    if (++this.#tensorsMade > this.#tensors) throw this.#fail(`more than ${this.#tensors} tensors (maxTensors)`);
  }

  /** Something that takes much more memory than its byte in the file. */
  object(): void {
    if (++this.#objectsMade > this.#objects) {
      throw this.#fail(`more than ${this.#objects} lists and dictionaries, or other objects (maxObjects)`);
    }
  }

  /** Instructions, or elements that one of them copies or looks at. */
  step(count = 1): void {
    this.#stepsMade += count;
    if (this.#stepsMade > this.#steps) throw this.#fail(`more than ${this.#steps} instructions`);
  }

  /** Keys of a Map or a Set that looking one up may pass. */
  lookup(passed: number): void {
    this.#lookupsMade += passed;
    if (this.#lookupsMade <= this.#lookups) return;
    throw this.#fail('its keys may be chosen to collide: too many numbers that are not 0 to n (maxObjects: Infinity)');
  }

  /** The error of what is nested beyond `maxDepth`. */
  tooDeep(): Error {
    return this.#fail(`it is nested too deeply: more than ${this.maxDepth} levels (maxDepth)`);
  }
}
