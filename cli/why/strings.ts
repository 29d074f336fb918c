/**
 * The strings of a heap snapshot. They contain all data of the program, so only their offsets are kept, and only the strings
 * that a path needs are read.
 */
import * as fs from 'node:fs';
import { type ByteReader, malformed } from './bytes';

const [QUOTE, COMMA, BACKSLASH, CLOSE, ZERO, NINE] = [34, 44, 92, 93, 48, 57];
const CHUNK_BITS = 16;
const CHUNK = 1 << CHUNK_BITS;
/** Longer names are cut. */
const MAX_BYTES = 400;
/** Bytes of each string that are inspected to find wanted names. */
const HEAD = 40;
/** V8's name for the edge from a WeakMap's key to its value, after a number. */
const PAIR = Buffer.from(' / part of key (');

const hashOf = (bytes: Uint8Array, length: number) => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash >>> 0;
};

export class Strings {
  /** In chunks, so that growing copies nothing. */
  private readonly offsets: (Uint32Array | Float64Array)[] = [];
  private count = 0;
  /** Numbers of the wanted names. */
  private readonly known = new Map<string, number>();
  /** Numbers of the names of edges from keys of WeakMaps. */
  private readonly pairs = new Set<number>();
  private readonly cache = new Map<number, string>();
  private readonly head = Buffer.alloc(HEAD);

  private readonly Offsets: typeof Uint32Array | typeof Float64Array;

  private constructor(private readonly fd: number) {
    this.Offsets = fs.fstatSync(fd).size < 2 ** 32 ? Uint32Array : Float64Array;
  }

  /** Reads the next list and finds the `wanted` names in it. */
  static read(reader: ByteReader, fd: number, wanted: readonly string[]): Strings {
    const strings = new Strings(fd);
    const byHash = new Map(wanted.map((name) => [hashOf(Buffer.from(name), Buffer.byteLength(name)), name]));
    reader.expect('[');
    for (;;) {
      let byte = reader.token();
      if (byte === COMMA) byte = reader.token();
      if (byte === CLOSE) return strings;
      if (byte !== QUOTE) throw malformed(`expected a string at byte ${reader.position - 1}`);
      strings.add(reader, byHash);
    }
  }

  private add(reader: ByteReader, byHash: ReadonlyMap<number, string>): void {
    const { offsets } = this;
    if (this.count === offsets.length * CHUNK) offsets.push(new this.Offsets(CHUNK));
    offsets[this.count >>> CHUNK_BITS]![this.count & (CHUNK - 1)] = reader.position;
    const { head } = this;
    let length = 0;
    let escaped = false;
    for (let byte = reader.next(); byte !== QUOTE; byte = reader.next()) {
      if (byte < 0) throw malformed('unexpected end of file in a string (was the process killed while writing?)');
      if (byte === BACKSLASH) {
        escaped = true;
        reader.next();
      } else if (length < HEAD) head[length] = byte;
      length++;
    }
    const id = this.count++;
    if (escaped) return;
    if (length < HEAD) {
      const name = byHash.get(hashOf(head, length));
      if (name !== undefined && head.toString('latin1', 0, length) === name) this.known.set(name, id);
    }
    if (head[0]! >= ZERO && head[0]! <= NINE && length >= HEAD) {
      let at = 1;
      while (head[at]! >= ZERO && head[at]! <= NINE && at < HEAD) at++;
      if (head.compare(PAIR, 0, PAIR.length, at, Math.min(HEAD, at + PAIR.length)) === 0) this.pairs.add(id);
    }
  }

  private offsetOf(id: number): number {
    return this.offsets[id >>> CHUNK_BITS]![id & (CHUNK - 1)]!;
  }

  get size(): number {
    return this.count;
  }

  /** The number of a wanted name, or -1. */
  idOf(name: string): number {
    return this.known.get(name) ?? -1;
  }

  /** Whether this is the name of an edge from a key of a WeakMap to its value. */
  isPair(id: number): boolean {
    return this.pairs.has(id);
  }

  at(id: number): string {
    let text = this.cache.get(id);
    if (text === undefined) {
      const buffer = Buffer.alloc(MAX_BYTES);
      const length = id < this.count ? fs.readSync(this.fd, buffer, 0, MAX_BYTES, this.offsetOf(id)) : 0;
      text = textIn(buffer.subarray(0, length), 0);
      this.cache.set(id, text);
    }
    return text;
  }

  /** Reads many short strings in one pass through the file. */
  each(ids: readonly number[], visit: (id: number, text: string) => void): void {
    const sorted = [...new Set(ids)].filter((id) => id < this.count).sort((a, b) => a - b);
    const window = Buffer.alloc(1 << 18);
    let begin = 0;
    let end = 0;
    for (const id of sorted) {
      const offset = this.offsetOf(id);
      if (offset + MAX_BYTES > end) {
        begin = offset;
        end = offset + fs.readSync(this.fd, window, 0, window.length, offset);
      }
      visit(id, textIn(window.subarray(0, end - begin), offset - begin));
    }
  }
}

/** The JSON string that begins after its quote, cut if it is long. */
function textIn(bytes: Buffer, from: number): string {
  let end = from;
  const most = Math.min(bytes.length, from + MAX_BYTES);
  while (end < most && bytes[end] !== QUOTE) end += bytes[end] === BACKSLASH ? 2 : 1;
  const raw = bytes.toString('utf8', from, Math.min(end, most));
  const cut = end >= most ? `${raw.replace(/\\[^\\]{0,5}$/, '').replace(/\ufffd$/, '')}…` : raw;
  try {
    return JSON.parse(`"${cut}"`) as string;
  } catch {
    return cut; // an invalid escape: the name is shown as it is written
  }
}
