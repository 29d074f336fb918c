/** Random numbers of one sample: the same for every number of workers. */
import { classes } from '../call/classes';
import type { Generator } from './arguments';

const MASK = 2n ** 64n - 1n;

/** The finalizer of splitmix64: every bit of the result depends on every bit of the key. */
function mixed(key: bigint): bigint {
  let bits = (key + 0x9e3779b97f4a7c15n) & MASK;
  bits = ((bits ^ (bits >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  bits = ((bits ^ (bits >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return bits ^ (bits >> 31n);
}

/** The seed of a sample: 53 bits, which depend on the seed of the pass, its number and the index. */
function seedOf(base: bigint, epoch: number, index: number): number {
  const key = mixed(mixed(mixed(base & MASK) ^ BigInt(epoch)) ^ BigInt.asUintN(64, BigInt(index)));
  return Number(key >> 11n);
}

/** What `getItem` gets beside the index. */
export class SampleContext {
  /** The number of the pass over the dataset, from 0 on. */
  readonly epoch: number;
  readonly index: number;
  readonly #base: bigint;
  #generator: Generator | null = null;
  #seed: number | null = null;
  #ended = false;

  /** @internal */
  constructor(base: bigint, epoch: number, index: number) {
    this.#base = base;
    this.epoch = epoch;
    this.index = index;
  }

  /** A seed below 2^53, keyed by the loader's seed, the epoch and the index. */
  get seed(): number {
    this.#seed ??= seedOf(this.#base, this.epoch, this.index);
    return this.#seed;
  }

  /** A generator with this seed, for `torch.rand([2], { generator })`. It lives until the batch is complete. */
  get generator(): Generator {
    if (this.#generator === null) {
      const made = new classes.Generator() as unknown as Generator;
      made.manualSeed(this.seed);
      if (this.#ended) made.dispose();
      this.#generator = made;
    }
    return this.#generator;
  }

  /** @internal */
  _end(): void {
    this.#ended = true;
    this.#generator?.dispose();
  }
}
