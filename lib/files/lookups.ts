/**
 * What it may cost to look a key of a file up in a Map or a Set. V8 hashes numbers, BigInts and texts that are numbers without
 * a seed, so a file can choose keys of one hash: each lookup then passes all that came before it, and a few hundred
 * kilobytes take minutes. Such a lookup is taken from the budget for the most keys that it may pass, whatever the hash is:
 *
 * - Integers of one size lie in a known range, 2^c of them, and a table of n keys has n / 2 buckets or more. So no more than
 *   about 2^(c+1) / n can share one. Keys 0 to n cost nothing, in whatever order they come.
 * - Other numbers may all share one.
 * - A text is compared with an equal one, character by character.
 *
 * The number of keys is counted in each container by itself, once it has more than a few.
 */
import type { Budget } from './limits';

/** Below, a lookup costs next to nothing, and counting costs a file of many small containers much memory. */
const FEW = 32;
/** As many in a bucket are what chance brings. */
const USUAL = 4;
const NEGATIVE = 64;
const TEXT = 128;
/** The class of numbers that are not integers of a known range. */
const ANY = 192;
/** Digits of 64 bits in the longest integer that a pickle may have. */
const MOST_DIGITS = 1024 * 8;
const COMPARED_AT_ONCE = 32;
/** V8 keeps the number itself as the hash of such a text, or a part of it. */
const NUMBER_AS_TEXT = /^(?:0|[1-9]\d{0,9})$/;

type Container = ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>;

class Crowd {
  readonly #counts: number[] = [];
  readonly #used: number[] = [];

  /** Keys that a lookup may pass among `size`. */
  passed(size: number): number {
    let sum = 0;
    for (const kind of this.#used) {
      const most = kind === ANY ? Number.POSITIVE_INFINITY : 2 ** ((kind % 64) + 1) / size;
      if (most > USUAL) sum += Math.min(this.#counts[kind]!, most);
    }
    return Math.floor(sum);
  }

  add(kind: number): void {
    if (this.#counts[kind] === undefined) this.#used.push(kind);
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
  }
}

const crowds = new WeakMap<Container, Crowd>();

const sizeOf = (integer: number): number => Math.floor(Math.log2(Math.abs(integer) + 1));

function kindOf(key: number | bigint | string): number {
  if (typeof key === 'string') return TEXT + sizeOf(Number(key));
  if (!Number.isSafeInteger(key)) return ANY;
  return (key as number) < 0 ? NEGATIVE + sizeOf(key as number) : sizeOf(key as number);
}

/** To compare one key, in parts of 64 bits. */
function partsOf(key: number | bigint | string): number {
  if (typeof key !== 'bigint' || BigInt.asIntN(64, key) === key) return 1;
  return BigInt.asIntN(256, key) === key ? 4 : MOST_DIGITS;
}

/** To be called before `key` is looked up or added. */
export function payLookup(container: Container, key: unknown, budget: Budget): void {
  if (typeof key === 'string') {
    if (key.length > COMPARED_AT_ONCE) budget.lookup(Math.floor(key.length / COMPARED_AT_ONCE));
    if (key.length > 10 || !NUMBER_AS_TEXT.test(key)) return;
  } else if (typeof key !== 'number' && typeof key !== 'bigint') return;
  const parts = partsOf(key);
  if (parts > 1) budget.lookup(parts);
  if (container.size < FEW) return;
  let crowd = crowds.get(container);
  if (crowd === undefined) {
    crowd = new Crowd();
    crowds.set(container, crowd);
  }
  budget.lookup(crowd.passed(container.size) * parts);
  crowd.add(kindOf(key));
}
