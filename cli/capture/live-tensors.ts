/** The live tensors in columns, about 30 bytes each instead of an object each. */
import { randomInt } from 'node:crypto';
import { type Kind, Kinds } from './kinds';

/** One live tensor, with the ids of its own process. */
export interface Birth extends Kind {
  /** The id of its record, which is reused after its death. */
  id: number;
  /** ms since the start of its process's capture; negative if older. */
  birthMs: number;
  /** Equal for tensors on one storage. */
  storage: number;
  /** Number of the scope that owns it; 0 for none or unknown. */
  scope: number;
}

/** For `setOwner`: owned by the collector since the tensor left its scope. Numbers of scopes are larger. */
export const KEPT = 1;

const CHUNK_BITS = 16;
const CHUNK = 1 << CHUNK_BITS;
const MIN_SLOTS = 2048;
/** Of the hash table. */
const MAX_LOAD = 0.7;
const U32 = 2 ** 32;

/** Tensors are stored in chunks, so that growing copies nothing. */
interface Chunk {
  ids: Uint32Array;
  kinds: Uint32Array;
  storages: Uint32Array;
  births: Float64Array;
  /** Scope numbers, KEPT, or 0 for the owner of the kind. Undefined if all are 0. */
  owners: Uint32Array | undefined;
}

const newChunk = (): Chunk => ({
  ids: new Uint32Array(CHUNK),
  kinds: new Uint32Array(CHUNK),
  storages: new Uint32Array(CHUNK),
  births: new Float64Array(CHUNK),
  owners: undefined,
});

/** Sizes are powers of two, so that a mask reduces a hash. */
const tableFor = (count: number) => new Int32Array(2 ** Math.ceil(Math.log2(Math.max(MIN_SLOTS, count / MAX_LOAD))));

/** Random per process, so that a crafted file cannot contain ids that all fall on one slot. */
const [SEED, FACTOR] = [randomInt(2 ** 32), randomInt(2 ** 31) * 2 + 1];

/** Ids are mostly consecutive, so 16 of them share a cache line. */
function hashOf(id: number): number {
  let hash = Math.imul((id >>> 4) + SEED, FACTOR);
  hash ^= hash >>> 15;
  hash = Math.imul(hash + SEED, 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) << 4) | (id & 15);
}

/** A set of births by id. Accepts any 32-bit ids without using more memory. */
export class LiveTensors {
  private readonly chunks: Chunk[] = [];
  private readonly kinds = new Kinds();
  /** Hash table of row + 1, 0 if free; linear probing. */
  private index = new Int32Array(1);
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** Adds the birth at `at` of a packet's payload. */
  add(payload: Buffer, at: number): void {
    const id = payload.readUInt32LE(at);
    let slot = this.slotOf(id);
    if (this.index[slot] === 0) {
      if (this.count + 1 > MAX_LOAD * this.index.length) {
        this.reindex();
        slot = this.slotOf(id);
      }
      if (this.count === this.chunks.length * CHUNK) this.chunks.push(newChunk());
      this.index[slot] = ++this.count;
    }
    const row = this.index[slot]! - 1;
    const chunk = this.chunks[row >>> CHUNK_BITS]!;
    const i = row & (CHUNK - 1);
    chunk.ids[i] = id;
    chunk.kinds[i] = this.kinds.numberOf(payload, at);
    chunk.storages[i] = payload.readUInt32LE(at + 36);
    chunk.births[i] = payload.readInt32LE(at + 20) * U32 + payload.readUInt32LE(at + 16);
    if (chunk.owners !== undefined) chunk.owners[i] = 0;
    if (this.kinds.tooMany(this.count)) this.sweepKinds();
  }

  /** The live tensor with this id. */
  find(id: number): Birth | undefined {
    const row = this.index[this.slotOf(id)]! - 1;
    return row < 0 ? undefined : this.at(row);
  }

  /** Sets the owner to a scope or (KEPT) to the collector. */
  setOwner(id: number, owner: number): void {
    const row = this.index[this.slotOf(id)]! - 1;
    if (row < 0) return;
    const chunk = this.chunks[row >>> CHUNK_BITS]!;
    chunk.owners ??= new Uint32Array(CHUNK);
    chunk.owners[row & (CHUNK - 1)] = owner;
  }

  delete(id: number): void {
    const slot = this.slotOf(id);
    const row = this.index[slot]! - 1;
    if (row < 0) return; // its birth was lost or dropped by --max-size
    this.vacate(slot);
    const last = --this.count;
    if (row === last) return;
    // The last row moves into the gap.
    this.index[this.slotOf(this.idAt(last))] = row + 1;
    const from = this.chunks[last >>> CHUNK_BITS]!;
    const to = this.chunks[row >>> CHUNK_BITS]!;
    const [i, k] = [last & (CHUNK - 1), row & (CHUNK - 1)];
    to.ids[k] = from.ids[i]!;
    to.kinds[k] = from.kinds[i]!;
    to.storages[k] = from.storages[i]!;
    to.births[k] = from.births[i]!;
    const owner = from.owners?.[i] ?? 0;
    if (owner !== 0) to.owners ??= new Uint32Array(CHUNK);
    if (to.owners !== undefined) to.owners[k] = owner;
  }

  at(row: number): Birth {
    const chunk = this.chunks[row >>> CHUNK_BITS]!;
    const i = row & (CHUNK - 1);
    const kind = this.kinds.at(chunk.kinds[i]!);
    const owner = chunk.owners?.[i] ?? 0;
    // Not `...kind`, which takes ten times as long: a report makes some of these for each of millions of tensors.
    return {
      siteId: kind.siteId,
      labelId: kind.labelId,
      shapeId: kind.shapeId,
      bytes: kind.bytes,
      weight: kind.weight,
      deviceType: kind.deviceType,
      deviceIndex: kind.deviceIndex,
      dtype: kind.dtype,
      isView: kind.isView,
      hasGraph: kind.hasGraph,
      environment: kind.environment,
      owner: owner === 0 ? kind.owner : owner === KEPT ? 'kept' : 'scope',
      scope: owner > KEPT ? owner : 0,
      id: chunk.ids[i]!,
      birthMs: chunk.births[i]!,
      storage: chunk.storages[i]!,
    };
  }

  /** Rows of the oldest tensors, oldest first. */
  oldest(most: number, wanted: (kind: Kind) => boolean): number[] {
    const isWanted = this.kinds.all().map(wanted);
    const rows: number[] = [];
    const births: number[] = [];
    for (let row = 0; row < this.count; row++) {
      const { kinds, births: born } = this.chunks[row >>> CHUNK_BITS]!;
      const i = row & (CHUNK - 1);
      const birth = born[i]!;
      if ((rows.length === most && birth >= births[most - 1]!) || !isWanted[kinds[i]!]) continue;
      let at = rows.length;
      while (at > 0 && births[at - 1]! > birth) at--;
      rows.splice(at, 0, row);
      births.splice(at, 0, birth);
      rows.length = births.length = Math.min(rows.length, most);
    }
    return rows;
  }

  /** Visits each storage once, with the birth of its oldest live tensor and its bytes times the weight. */
  eachStorage(wanted: (kind: Kind) => boolean, visit: (birthMs: number, bytes: number) => void): void {
    const all = this.kinds.all().map((kind) => ({ ...kind, wanted: wanted(kind), whole: kind.bytes * kind.weight }));
    let views = 0;
    for (let row = 0; row < this.count; row++) {
      const { kinds, births } = this.chunks[row >>> CHUNK_BITS]!;
      const kind = all[kinds[row & (CHUNK - 1)]!]!;
      if (!kind.wanted) continue;
      if (kind.isView) views++;
      else visit(births[row & (CHUNK - 1)]!, kind.whole);
    }
    if (views === 0) return;
    // A storage whose first tensor died is held by its views. The table has row + 1 of the oldest view per storage.
    const table = tableFor(views);
    const mask = table.length - 1;
    const slotOf = (storage: number) => {
      let slot = hashOf(storage) & mask;
      while (table[slot] !== 0 && this.storageAt(Math.abs(table[slot]!) - 1) !== storage) slot = (slot + 1) & mask;
      return slot;
    };
    for (let row = 0; row < this.count; row++) {
      const kind = all[this.kindAt(row)]!;
      if (!kind.wanted || !kind.isView) continue;
      const slot = slotOf(this.storageAt(row));
      const known = table[slot]!;
      if (known === 0 || this.birthAt(row) < this.birthAt(known - 1)) table[slot] = row + 1;
    }
    for (let row = 0; row < this.count; row++) {
      const kind = all[this.kindAt(row)]!;
      if (!kind.wanted || kind.isView) continue;
      const slot = slotOf(this.storageAt(row));
      table[slot] = -Math.abs(table[slot]!); // already visited
    }
    for (const found of table) {
      if (found > 0) visit(this.birthAt(found - 1), all[this.kindAt(found - 1)]!.whole);
    }
  }

  private idAt(row: number): number {
    return this.chunks[row >>> CHUNK_BITS]!.ids[row & (CHUNK - 1)]!;
  }

  private kindAt(row: number): number {
    return this.chunks[row >>> CHUNK_BITS]!.kinds[row & (CHUNK - 1)]!;
  }

  private storageAt(row: number): number {
    return this.chunks[row >>> CHUNK_BITS]!.storages[row & (CHUNK - 1)]!;
  }

  private birthAt(row: number): number {
    return this.chunks[row >>> CHUNK_BITS]!.births[row & (CHUNK - 1)]!;
  }

  /** The slot of `id`, or the free slot for it. */
  private slotOf(id: number): number {
    const { index } = this;
    const mask = index.length - 1;
    let slot = hashOf(id) & mask;
    for (;;) {
      const row = index[slot]! - 1;
      if (row < 0 || this.idAt(row) === id) return slot;
      slot = (slot + 1) & mask;
    }
  }

  /** Frees a slot and moves later entries up, so that searches do not stop at the gap. */
  private vacate(gap: number): void {
    const { index } = this;
    const mask = index.length - 1;
    let free = gap;
    index[free] = 0;
    for (let slot = (free + 1) & mask; index[slot] !== 0; slot = (slot + 1) & mask) {
      const home = hashOf(this.idAt(index[slot]! - 1)) & mask;
      if (((slot - home) & mask) < ((slot - free) & mask)) continue;
      index[free] = index[slot]!;
      index[slot] = 0;
      free = slot;
    }
  }

  private reindex(): void {
    this.index = tableFor(2 * this.count);
    for (let row = 0; row < this.count; row++) this.index[this.slotOf(this.idAt(row))] = row + 1;
  }

  /** Removes the kinds of dead tensors. */
  private sweepKinds(): void {
    const used = new Uint8Array(this.kinds.size);
    for (let row = 0; row < this.count; row++) used[this.kindAt(row)] = 1;
    const numbers = this.kinds.keep(used);
    for (let row = 0; row < this.count; row++) {
      const { kinds } = this.chunks[row >>> CHUNK_BITS]!;
      kinds[row & (CHUNK - 1)] = numbers[kinds[row & (CHUNK - 1)]!]!;
    }
  }
}
