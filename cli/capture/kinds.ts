/** The properties that many tensors share. Each tensor then needs only the number of its kind. */
import { randomInt } from 'node:crypto';

export interface Kind {
  siteId: number;
  /** 0 for no label. */
  labelId: number;
  /** 0 for unknown. */
  shapeId: number;
  /** Bytes of the storage at birth. */
  bytes: number;
  /** How many tensors it represents: 1 except in `sample` mode. */
  weight: number;
  deviceType: number;
  deviceIndex: number;
  dtype: number;
  /** Whether another tensor had the storage before it. */
  isView: boolean;
  /** Whether it had an autograd graph at its birth. False in older captures. */
  hasGraph: boolean;
  /** Number of the environment (thread). */
  environment: number;
  /** What frees the tensor, as written with its birth. Unknown in older captures. */
  owner: 'unknown' | 'collector' | 'kept' | 'scope';
}

const OWNERS = ['unknown', 'collector', 'kept', 'scope'] as const;

/** Offsets of the kind's 32-bit words in a birth: site, label, shape; bytes, weight; device and dtype, thread. */
const WORDS = [4, 8, 12, 24, 28, 32, 40, 44];
const BYTES = 4 * WORDS.length;
const MIN_SLOTS = 256;
/** So many are kept as objects, too. */
const MAX_READ = 65_536;
/** Up to this number, kinds are kept whether they are in use or not. */
const MIN_SWEEP = 65_536;

export class Kinds {
  private rows = Buffer.alloc(0);
  /** A view on the same memory. */
  private words = new Uint32Array(0);
  /** Hash table of number + 1, 0 if free; linear probing, at most half full. */
  private index = new Int32Array(0);
  private count = 0;
  /** Those that were asked for, which is once for each of their tensors. */
  private read: (Kind | undefined)[] = [];

  get size(): number {
    return this.count;
  }

  /** Whether most kinds must belong to dead tensors. */
  tooMany(live: number): boolean {
    return this.count > MIN_SWEEP && this.count > 2 * live;
  }

  /** The number of the kind of the birth at `at`, which is added if new. */
  numberOf(payload: Buffer, at: number): number {
    if (2 * this.count >= this.index.length) this.grow();
    let hash = SEED;
    for (const word of WORDS) hash = mix(hash, payload.readUInt32LE(at + word));
    const { index, words } = this;
    const mask = index.length - 1;
    let slot = finish(hash) & mask;
    for (; index[slot] !== 0; slot = (slot + 1) & mask) {
      const first = (index[slot]! - 1) * WORDS.length;
      let same = true;
      for (let i = 0; same && i < WORDS.length; i++) same = words[first + i] === payload.readUInt32LE(at + WORDS[i]!);
      if (same) return index[slot]! - 1;
    }
    index[slot] = ++this.count;
    const first = (this.count - 1) * WORDS.length;
    for (let i = 0; i < WORDS.length; i++) words[first + i] = payload.readUInt32LE(at + WORDS[i]!);
    return this.count - 1;
  }

  at(number: number): Readonly<Kind> {
    if (number >= MAX_READ) return this.readAt(number);
    this.read[number] ??= this.readAt(number);
    return this.read[number];
  }

  private readAt(number: number): Kind {
    const { rows } = this;
    const at = number * BYTES;
    return {
      siteId: rows.readUInt32LE(at),
      labelId: rows.readUInt32LE(at + 4),
      shapeId: rows.readUInt32LE(at + 8),
      bytes: Number(rows.readBigUInt64LE(at + 12)),
      weight: rows.readFloatLE(at + 20),
      deviceType: rows.readInt8(at + 24),
      deviceIndex: rows.readInt8(at + 25),
      dtype: rows.readInt8(at + 26),
      isView: (rows[at + 27]! & 1) !== 0,
      hasGraph: (rows[at + 27]! & 8) !== 0,
      environment: rows.readUInt32LE(at + 28),
      owner: OWNERS[(rows[at + 27]! >> 1) & 3]!,
    };
  }

  all(): Readonly<Kind>[] {
    return Array.from({ length: this.count }, (_, number) => this.at(number));
  }

  /** Keeps the kinds in use; returns the new numbers. */
  keep(used: Uint8Array): Uint32Array {
    const numbers = new Uint32Array(this.count);
    let kept = 0;
    for (let number = 0; number < this.count; number++) {
      if (used[number] === 0) continue;
      this.words.copyWithin(kept * WORDS.length, number * WORDS.length, (number + 1) * WORDS.length);
      numbers[number] = kept++;
    }
    this.count = kept;
    this.read = [];
    this.reindex();
    return numbers;
  }

  private grow(): void {
    const room = Math.max(MIN_SLOTS, 2 * this.count);
    const rows = Buffer.alloc(room * BYTES);
    this.rows.copy(rows, 0, 0, this.count * BYTES);
    this.rows = rows;
    this.words = new Uint32Array(rows.buffer, rows.byteOffset, room * WORDS.length);
    this.index = new Int32Array(2 * room);
    this.reindex();
  }

  private reindex(): void {
    const { index, words } = this;
    const mask = index.length - 1;
    index.fill(0);
    for (let number = 0; number < this.count; number++) {
      let hash = SEED;
      for (let i = 0; i < WORDS.length; i++) hash = mix(hash, words[number * WORDS.length + i]!);
      let slot = finish(hash) & mask;
      while (index[slot] !== 0) slot = (slot + 1) & mask;
      index[slot] = number + 1;
    }
  }
}

/** Random per process, so that a crafted file cannot contain kinds that all fall on one slot. */
const [SEED, FACTOR] = [randomInt(2 ** 32), randomInt(2 ** 31) * 2 + 1];

const mix = (hash: number, word: number) => Math.imul((hash ^ word) >>> 0, FACTOR) ^ (hash >>> 15);

function finish(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return mixed ^ (mixed >>> 13);
}
