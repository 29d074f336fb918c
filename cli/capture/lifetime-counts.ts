/**
 * How many tensors of a site and device were live in a span of time, in columns: a capture of ten million dead tensors looks one
 * up for each.
 */
import { randomInt } from 'node:crypto';
import { IdMap } from './id-map';

/** Tensors of one site and device with about the same times, ms since the start of their process. */
export interface Lifetime {
  /** The site and the device: `placeOf` of lifetimes.ts. */
  place: number;
  bornMs: number;
  /** From when the storage counts for them: later than their birth for views whose base was freed before them. */
  fromMs: number;
  /** Infinity if they are live. */
  diedMs: number;
  tensors: number;
  bytes: number;
}

const COLUMNS = 6;
const MIN_ROWS = 256;
const U32 = 2 ** 32;

/** Random per process, so that a crafted file cannot contain times that all fall on one slot. */
const [SEED, FACTOR] = [randomInt(U32), randomInt(2 ** 31) * 2 + 1];

const mixWord = (hash: number, word: number) => Math.imul((hash ^ word) >>> 0, FACTOR) ^ (hash >>> 15);
/** `value`: a whole number below 2 ** 53. */
const mix = (hash: number, value: number) => mixWord(mixWord(hash, value >>> 0), (value / U32) >>> 0);

export class LifetimeCounts {
  /** Place, three times, tensors, bytes. */
  private rows = new Float64Array(MIN_ROWS * COLUMNS);
  /** Hash table of row + 1, 0 if free; linear probing, at most half full. */
  private index = new Int32Array(2 * MIN_ROWS);
  private count = 0;
  private readonly all = new IdMap<true>();

  get size(): number {
    return this.count;
  }

  /** The number of different places. */
  get places(): number {
    return this.all.size;
  }

  /** Adds to the tensors and bytes of this place and these times. */
  add(place: number, bornMs: number, fromMs: number, diedMs: number, tensors: number, bytes: number): void {
    const { rows } = this;
    const slot = this.slotOf(place, bornMs, fromMs, diedMs);
    const known = this.index[slot]! - 1;
    if (known >= 0) {
      rows[known * COLUMNS + 4]! += tensors;
      rows[known * COLUMNS + 5]! += bytes;
      return;
    }
    this.all.set(place, true);
    const at = this.count * COLUMNS;
    rows[at] = place;
    rows[at + 1] = bornMs;
    rows[at + 2] = fromMs;
    rows[at + 3] = diedMs;
    rows[at + 4] = tensors;
    rows[at + 5] = bytes;
    this.index[slot] = ++this.count;
    if (2 * this.count === this.index.length) this.grow();
  }

  *[Symbol.iterator](): Generator<Lifetime> {
    for (let at = 0; at < this.count * COLUMNS; at += COLUMNS) {
      const [place, bornMs, fromMs, diedMs, tensors, bytes] = this.rows.subarray(at, at + COLUMNS);
      yield { place: place!, bornMs: bornMs!, fromMs: fromMs!, diedMs: diedMs!, tensors: tensors!, bytes: bytes! };
    }
  }

  /** The slot of a row, or the free slot for it. */
  private slotOf(place: number, bornMs: number, fromMs: number, diedMs: number): number {
    const { index, rows } = this;
    const mask = index.length - 1;
    const hash = mix(mix(mix(mix(SEED, place), bornMs), fromMs), diedMs);
    let slot = (Math.imul(hash ^ (hash >>> 16), FACTOR) >>> 7) & mask;
    for (; index[slot] !== 0; slot = (slot + 1) & mask) {
      const at = (index[slot]! - 1) * COLUMNS;
      if (rows[at] === place && rows[at + 1] === bornMs && rows[at + 2] === fromMs && rows[at + 3] === diedMs) break;
    }
    return slot;
  }

  private grow(): void {
    const rows = new Float64Array(2 * this.rows.length);
    rows.set(this.rows);
    this.rows = rows;
    this.index = new Int32Array(2 * this.index.length);
    for (let row = 0; row < this.count; row++) {
      const at = row * COLUMNS;
      this.index[this.slotOf(rows[at]!, rows[at + 1]!, rows[at + 2]!, rows[at + 3]!)] = row + 1;
    }
  }
}
