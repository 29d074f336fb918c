/**
 * The worst-case cost of looking up a key from a file in a Map or a Set. V8 hashes numbers, BigInts and numeric strings
 * without a seed, so a file can choose keys with equal hashes: each lookup then probes all earlier keys, and a few hundred
 * kilobytes take minutes. Each such lookup is charged for the most keys that it may probe, whatever the hash is:
 *
 * - Integers of one magnitude are in a known range of 2^c values, and a table of n keys has at least n / 2 buckets. So at
 *   most about 2^(c+1) / n of them can share a bucket. Keys 0 to n cost nothing, in any order.
 * - Other numbers may all share one bucket.
 * - A string is compared with an equal one character by character.
 *
 * Keys are counted per container, once it has more than a few.
 */
import type { Budget } from './limits';

/** Below this size a lookup costs almost nothing, and counting would cost much memory in a file of many small containers. */
const FEW = 32;
/** Keys per bucket that occur by chance. */
const USUAL = 4;
const NEGATIVE = 64;
const TEXT = 128;
/** The class of numbers other than safe integers. */
const ANY = 192;
/** 64-bit digits of the longest integer that a pickle may have. */
const MAX_DIGITS = 1024 * 8;
const COMPARED_AT_ONCE = 32;
/** V8 uses the number, or a part of it, as the hash of such a string. */
const NUMBER_AS_TEXT = /^(?:0|[1-9]\d{0,9})$/;

type Container = ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>;

class KeyCounts {
  readonly #counts: number[] = [];
  readonly #used: number[] = [];

  /** The most keys that a lookup may probe among `size` keys. */
  probes(size: number): number {
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

const countsOf = new WeakMap<Container, KeyCounts>();

const sizeOf = (integer: number): number => Math.floor(Math.log2(Math.abs(integer) + 1));

function kindOf(key: number | bigint | string): number {
  if (typeof key === 'string') return TEXT + sizeOf(Number(key));
  if (!Number.isSafeInteger(key)) return ANY;
  return (key as number) < 0 ? NEGATIVE + sizeOf(key as number) : sizeOf(key as number);
}

/** The cost of comparing one key, in units of 64 bits. */
function partsOf(key: number | bigint | string): number {
  if (typeof key !== 'bigint' || BigInt.asIntN(64, key) === key) return 1;
  return BigInt.asIntN(256, key) === key ? 4 : MAX_DIGITS;
}

/** Call before `key` is looked up or added. */
export function payLookup(container: Container, key: unknown, budget: Budget): void {
  if (typeof key === 'string') {
    if (key.length > COMPARED_AT_ONCE) budget.lookup(Math.floor(key.length / COMPARED_AT_ONCE));
    if (key.length > 10 || !NUMBER_AS_TEXT.test(key)) return;
  } else if (typeof key !== 'number' && typeof key !== 'bigint') return;
  const parts = partsOf(key);
  if (parts > 1) budget.lookup(parts);
  if (container.size < FEW) return;
  let counts = countsOf.get(container);
  if (counts === undefined) {
    counts = new KeyCounts();
    countsOf.set(container, counts);
  }
  budget.lookup(counts.probes(container.size) * parts);
  counts.add(kindOf(key));
}
