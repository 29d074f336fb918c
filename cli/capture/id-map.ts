/** Maps keyed by ids from a file. */
import { randomInt } from 'node:crypto';

const U32 = 2 ** 32;
const odd = () => randomInt(2 ** 31) * 2 + 1;

/** The inverse of `factor` modulo 2 ** 32. */
function inverse(factor: number): number {
  let x = factor;
  for (let i = 0; i < 5; i++) x = Math.imul(x, 2 - Math.imul(factor, x));
  return x;
}

/** Random per process: V8 does not seed its hash of numbers, so a crafted file could contain ids that all collide. */
const [SEED, FIRST, SECOND] = [randomInt(U32), odd(), odd()];
const [FIRST_INVERSE, SECOND_INVERSE] = [inverse(FIRST), inverse(SECOND)];

/** A bijection on 32-bit integers. */
function scramble(id: number): number {
  const hash = Math.imul(id ^ SEED, FIRST);
  return Math.imul(hash ^ (hash >>> 15), SECOND);
}

function unscramble(key: number): number {
  const hash = Math.imul(key, SECOND_INVERSE);
  return Math.imul(hash ^ (hash >>> 15) ^ (hash >>> 30), FIRST_INVERSE) ^ SEED;
}

/** Ids below 2 ** 32 map to signed 32-bit integers; larger ids map to keys from 2 ** 32 on. */
function keyOf(id: number): number {
  if (id < U32) return scramble(id);
  const high = Math.floor(id / U32);
  return high * U32 + (scramble(id ^ scramble(high)) >>> 0);
}

function idOf(key: number): number {
  if (key < U32) return unscramble(key) >>> 0;
  const high = Math.floor(key / U32);
  return high * U32 + ((unscramble(key | 0) ^ scramble(high)) >>> 0);
}

/** A Map for whole numbers from 0 to 2 ** 53 - 1 that is robust against ids chosen to collide. */
export class IdMap<T> {
  private readonly map = new Map<number, T>();

  get size(): number {
    return this.map.size;
  }

  get(id: number): T | undefined {
    return this.map.get(keyOf(id));
  }

  has(id: number): boolean {
    return this.map.has(keyOf(id));
  }

  set(id: number, value: T): void {
    this.map.set(keyOf(id), value);
  }

  delete(id: number): boolean {
    return this.map.delete(keyOf(id));
  }

  *keys(): Generator<number> {
    for (const key of this.map.keys()) yield idOf(key);
  }

  values(): IterableIterator<T> {
    return this.map.values();
  }

  /** In insertion order. */
  *[Symbol.iterator](): Generator<[number, T]> {
    for (const [key, value] of this.map) yield [idOf(key), value];
  }
}
