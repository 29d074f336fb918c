/**
 * The subset of zip that PyTorch's files and npz need: stored or deflated entries, with zip64. (Format: PKWARE's APPNOTE.)
 * All offsets and sizes in an archive are checked against its length.
 */
import { crc32, inflateRawSync } from 'node:zlib';
import type { Budget } from './limits';
import { payLookup } from './lookups';
import { quote } from './names';

/** Random access to the bytes of a file or of memory. */
export interface Bytes {
  readonly size: number;
  /** A copy, or a view of existing memory. */
  read(from: number, length: number): Uint8Array;
  /** The same for bytes that are inspected but not kept. */
  pass?(from: number, length: number): Uint8Array;
}

/** The CRC-32 of bytes that are read or written. Native code adds to `state` as well. */
export class Crc32 {
  readonly state: Uint32Array = new Uint32Array(1);

  get value(): number {
    return this.state[0]!;
  }

  add(bytes: Uint8Array): void {
    this.state[0] = crc32(bytes, this.value);
  }
}

export interface ZipEntry {
  readonly name: string;
  /** Unpacked size in bytes. */
  readonly size: number;
  readonly packed: number;
  readonly deflated: boolean;
  readonly crc: number;
  /** Offset of the local header. */
  readonly offset: number;
}

export const LOCAL = 0x04034b50;
export const CENTRAL = 0x02014b50;
export const END = 0x06054b50;
export const END64 = 0x06064b50;
export const LOCATOR64 = 0x07064b50;
const MAX_COMMENT = 0xffff;
export const IN_ZIP64 = 0xffffffff;
/** The highest compression ratio of deflate. */
const MAX_DEFLATE_RATIO = 1032;
const MAX_ENTRIES = 2 ** 20;

const view = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Reads an archive. `fail` makes the errors of the expected file format. */
export class ZipReader {
  readonly entries = new Map<string, ZipEntry>();
  readonly #bytes: Bytes;
  readonly #fail: (what: string) => Error;
  /** The limit of each entry's data: the next entry's header, or the directory. */
  readonly #ends = new Map<string, number>();

  /** `budget` is charged for the unpacked size of all entries. */
  constructor(bytes: Bytes, fail: (what: string) => Error, budget?: Budget) {
    this.#bytes = bytes;
    this.#fail = fail;
    const { offset, size, count } = this.#end();
    if (count > MAX_ENTRIES) throw fail(`more than ${MAX_ENTRIES} entries`);
    this.#readDirectory(this.#read(offset, size, 'the directory'), count, budget);
    this.#refuseOverlaps(offset);
    let unpacked = 0;
    for (const entry of this.entries.values()) unpacked += entry.size;
    budget?.unpack(unpacked);
  }

  /** Entries must not share bytes, or a small archive could unpack to any size. */
  #refuseOverlaps(directory: number): void {
    const byPlace = [...this.entries.values()].sort((a, b) => a.offset - b.offset);
    byPlace.forEach(({ name, offset, packed }, i) => {
      const next = byPlace[i + 1]?.offset ?? directory;
      if (offset + 30 + packed > next) throw this.#fail(`${quote(name)}: overlaps what follows it`);
      this.#ends.set(name, next);
    });
  }

  #read(from: number, length: number, what: string): Uint8Array {
    if (from < 0 || length < 0 || from + length > this.#bytes.size) throw this.#fail(`${what} is outside the file`);
    return this.#bytes.read(from, length);
  }

  #end(): { offset: number; size: number; count: number } {
    const from = Math.max(0, this.#bytes.size - 22 - MAX_COMMENT);
    const tail = this.#read(from, this.#bytes.size - from, 'the end');
    const data = view(tail);
    for (let at = tail.length - 22; at >= 0; at--) {
      if (data.getUint32(at, true) !== END || at + 22 + data.getUint16(at + 20, true) !== tail.length) continue;
      const end = {
        count: data.getUint16(at + 10, true),
        size: data.getUint32(at + 12, true),
        offset: data.getUint32(at + 16, true),
      };
      return end.count === 0xffff || end.offset === IN_ZIP64 || end.size === IN_ZIP64 ? this.#end64(from + at) : end;
    }
    throw this.#fail('not a zip archive, or a truncated one');
  }

  #end64(end: number): { offset: number; size: number; count: number } {
    const locator = view(this.#read(end - 20, 20, 'the zip64 locator'));
    if (locator.getUint32(0, true) !== LOCATOR64) throw this.#fail('the zip64 locator is missing');
    const record = view(this.#read(this.#number(locator, 8), 56, 'the zip64 record'));
    if (record.getUint32(0, true) !== END64) throw this.#fail('the zip64 record is missing');
    return { count: this.#number(record, 32), size: this.#number(record, 40), offset: this.#number(record, 48) };
  }

  #number(data: DataView, at: number): number {
    const value = data.getBigUint64(at, true);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw this.#fail(`${value} exceeds 2^53 - 1`);
    return Number(value);
  }

  #readDirectory(bytes: Uint8Array, count: number, budget: Budget | undefined): void {
    const data = view(bytes);
    let at = 0;
    for (let i = 0; i < count; i++) {
      if (at + 46 > bytes.length || data.getUint32(at, true) !== CENTRAL)
        throw this.#fail('the directory is truncated');
      const [nameLength, extraLength, commentLength] = [28, 30, 32].map((field) => data.getUint16(at + field, true));
      const next = at + 46 + nameLength! + extraLength! + commentLength!;
      if (next > bytes.length) throw this.#fail('the directory is truncated');
      const name = Buffer.from(bytes.subarray(at + 46, at + 46 + nameLength!)).toString('utf8');
      const extra = bytes.subarray(at + 46 + nameLength!, at + 46 + nameLength! + extraLength!);
      const sizes = [24, 20, 42].map((field) => data.getUint32(at + field, true));
      const [size, packed, offset] = this.#wide(extra, sizes);
      const method = data.getUint16(at + 10, true);
      if (method !== 0 && method !== 8) throw this.#fail(`${quote(name)}: unsupported compression method ${method}`);
      if ((data.getUint16(at + 8, true) & 1) !== 0)
        throw this.#fail(`${quote(name)}: encrypted entries are not supported`);
      if (method === 0 && size !== packed)
        throw this.#fail(`${quote(name)}: stored entry with different sizes, ${size} and ${packed} bytes`);
      if (method === 8 && size! > MAX_DEFLATE_RATIO * (packed! + 1)) {
        throw this.#fail(`${quote(name)}: ${packed} bytes cannot be unpacked to ${size}`);
      }
      if (budget !== undefined) payLookup(this.entries, name, budget);
      if (this.entries.has(name)) throw this.#fail(`duplicate entry ${quote(name)}`);
      const crc = data.getUint32(at + 16, true);
      this.entries.set(name, { name, size: size!, packed: packed!, deflated: method === 8, crc, offset: offset! });
      at = next;
    }
  }

  /** Fields that do not fit in 32 bits are in the zip64 extra field, in this order. */
  #wide(extra: Uint8Array, sizes: number[]): number[] {
    if (!sizes.includes(IN_ZIP64)) return sizes;
    const data = view(extra);
    for (let at = 0; at + 4 <= extra.length; at += 4 + data.getUint16(at + 2, true)) {
      if (data.getUint16(at, true) !== 1) continue;
      let field = at + 4;
      return sizes.map((size) => {
        if (size !== IN_ZIP64) return size;
        if (field + 8 > extra.length) throw this.#fail('the zip64 sizes are truncated');
        field += 8;
        return this.#number(data, field - 8);
      });
    }
    throw this.#fail('the zip64 sizes are missing');
  }

  /** The offset of an entry's packed bytes. */
  start({ name, offset, packed }: ZipEntry): number {
    const local = view(this.#read(offset, 30, quote(name)));
    if (local.getUint32(0, true) !== LOCAL) throw this.#fail(`${quote(name)}: not where the directory says`);
    const nameLength = local.getUint16(26, true);
    const start = offset + 30 + nameLength + local.getUint16(28, true);
    if (start + packed > this.#bytes.size) throw this.#fail(`${quote(name)}: is outside the file`);
    if (start + packed > this.#ends.get(name)!) throw this.#fail(`${quote(name)}: overlaps what follows it`);
    const own = Buffer.from(this.#read(offset + 30, nameLength, quote(name))).toString('utf8');
    if (own !== name) throw this.#fail(`${quote(name)}: its local header names it ${quote(own)}`);
    return start;
  }

  /** Checks the CRC-32 of a stored entry without holding all of it; `take` gets its bytes piece by piece. */
  check(entry: ZipEntry, take?: (bytes: Uint8Array) => void): void {
    const pass = this.#bytes.pass ?? this.#bytes.read;
    const step = 1 << 20;
    this.summed(entry, (start, sum) => {
      for (let at = 0; at < entry.size; at += step) {
        const bytes = pass.call(this.#bytes, start + at, Math.min(step, entry.size - at));
        sum.add(bytes);
        take?.(bytes);
      }
    });
  }

  /** The result of `read`, which adds all bytes of a stored entry to `sum` in order. Their CRC-32 is checked. */
  summed<T>(entry: ZipEntry, read: (start: number, sum: Crc32) => T): T {
    const sum = new Crc32();
    const result = read(this.start(entry), sum);
    if (sum.value !== entry.crc) throw this.#fail(`${quote(entry.name)}: CRC-32 mismatch, the data is corrupt`);
    return result;
  }

  /** The unpacked bytes of an entry, checked against its CRC-32. */
  data(entry: ZipEntry): Uint8Array {
    const raw = this.#read(this.start(entry), entry.packed, quote(entry.name));
    let bytes = raw;
    if (entry.deflated) {
      try {
        bytes = inflateRawSync(raw, { maxOutputLength: Math.max(1, entry.size) });
      } catch (error) {
        throw this.#fail(`${quote(entry.name)}: ${(error as Error).message}`);
      }
    }
    if (bytes.length !== entry.size)
      throw this.#fail(`${quote(entry.name)}: expected ${entry.size} bytes, got ${bytes.length}`);
    if (crc32(bytes) !== entry.crc) throw this.#fail(`${quote(entry.name)}: CRC-32 mismatch, the data is corrupt`);
    return bytes;
  }
}
