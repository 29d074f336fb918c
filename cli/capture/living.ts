/** The tensors that are alive, in columns: ten million of them take some 60 bytes each, not an object each. */
import { BIRTH_BYTES } from './format';

/** One living tensor, with the ids of its own process. */
export interface Birth {
  /** Of its record; used again after it died. */
  id: number;
  siteId: number;
  /** 0: made outside every label. */
  labelId: number;
  /** 0: not known. */
  shapeId: number;
  /** ms since the start of its process's capture; negative when it was older. */
  birthMs: number;
  /** Bytes of the storage at birth. */
  bytes: number;
  /** How many tensors like it it stands for: 1 but in `sample` mode. */
  weight: number;
  /** Equal for tensors on one storage. */
  storage: number;
  deviceType: number;
  deviceIndex: number;
  dtype: number;
  /** Whether another tensor had the storage before it. */
  isView: boolean;
  /** Number of the environment (thread). */
  environment: number;
}

const LEAST = 1024;

/** A set of births by id. Ids may be any 32-bit numbers, so a crafted file costs no more memory than its size. */
export class LivingTensors {
  private rows = Buffer.alloc(0);
  /** Row + 1 by the hash of its id, 0 where free; linear probing. */
  private index = new Int32Array(2 * LEAST);
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** `payload` holds a birth at `at`, as the file has it. */
  add(payload: Buffer, at: number): void {
    if (this.count * BIRTH_BYTES === this.rows.length) this.grow();
    const slot = this.slotOf(payload.readUInt32LE(at));
    if (this.index[slot] === 0) this.index[slot] = ++this.count;
    payload.copy(this.rows, (this.index[slot]! - 1) * BIRTH_BYTES, at, at + BIRTH_BYTES);
  }

  delete(id: number): void {
    const slot = this.slotOf(id);
    const row = this.index[slot]! - 1;
    if (row < 0) return; // its birth is in a lost packet, or was dropped by --max-size
    this.vacate(slot);
    const last = --this.count;
    if (row === last) return;
    // The last row moves into the gap.
    this.index[this.slotOf(this.idAt(last))] = row + 1;
    this.rows.copy(this.rows, row * BIRTH_BYTES, last * BIRTH_BYTES, (last + 1) * BIRTH_BYTES);
  }

  at(row: number): Birth {
    const { rows } = this;
    const at = row * BIRTH_BYTES;
    return {
      id: rows.readUInt32LE(at),
      siteId: rows.readUInt32LE(at + 4),
      labelId: rows.readUInt32LE(at + 8),
      shapeId: rows.readUInt32LE(at + 12),
      birthMs: Number(rows.readBigInt64LE(at + 16)),
      bytes: Number(rows.readBigUInt64LE(at + 24)),
      weight: rows.readFloatLE(at + 32),
      storage: rows.readUInt32LE(at + 36),
      deviceType: rows.readInt8(at + 40),
      deviceIndex: rows.readInt8(at + 41),
      dtype: rows.readInt8(at + 42),
      isView: (rows[at + 43]! & 1) !== 0,
      environment: rows.readUInt32LE(at + 44),
    };
  }

  private idAt(row: number): number {
    return this.rows.readUInt32LE(row * BIRTH_BYTES);
  }

  private homeOf(id: number): number {
    let hash = Math.imul(id, 0x9e3779b1);
    hash ^= hash >>> 15;
    return (Math.imul(hash, 0x85ebca6b) >>> 7) & (this.index.length - 1);
  }

  /** Where `id` is, or the free slot where it would be. */
  private slotOf(id: number): number {
    const mask = this.index.length - 1;
    let slot = this.homeOf(id);
    for (;;) {
      const row = this.index[slot]! - 1;
      if (row < 0 || this.idAt(row) === id) return slot;
      slot = (slot + 1) & mask;
    }
  }

  /** Frees a slot and closes the gap that searches would stop at. */
  private vacate(gap: number): void {
    const { index } = this;
    const mask = index.length - 1;
    let free = gap;
    index[free] = 0;
    for (let slot = (free + 1) & mask; index[slot] !== 0; slot = (slot + 1) & mask) {
      const home = this.homeOf(this.idAt(index[slot]! - 1));
      if (((slot - home) & mask) < ((slot - free) & mask)) continue;
      index[free] = index[slot]!;
      index[slot] = 0;
      free = slot;
    }
  }

  private grow(): void {
    const capacity = Math.max(LEAST, 2 * this.count);
    const rows = Buffer.alloc(capacity * BIRTH_BYTES);
    this.rows.copy(rows);
    this.rows = rows;
    this.index = new Int32Array(2 * capacity); // both are powers of two
    for (let row = 0; row < this.count; row++) this.index[this.slotOf(this.idAt(row))] = row + 1;
  }
}
