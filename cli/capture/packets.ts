/** Splits a stream into packets. Bytes without a correct checksum are counted and skipped, in linear time. */
import { crc32 } from 'node:zlib';
import { UsageError } from '../errors/errors';
import {
  FLAGS_AT,
  FOREIGN_FLAGS_AT,
  FORMAT_VERSION,
  HEADER_BYTES,
  MAGIC,
  MAX_PACKET_BYTES,
  PACKET_HEADER_BYTES,
  SYNC,
} from './format';

const SYNC_BYTES = Buffer.alloc(4);
SYNC_BYTES.writeUInt32LE(SYNC);

export interface PacketSink {
  /** `whole` is the packet with its header. Both buffers are overwritten by the next `feed`. */
  packet(type: number, payload: Buffer, whole: Buffer): void;
}

export class PacketScanner {
  /** The header's flags of the owner and of other processes; undefined until the header is read. */
  flags: number | undefined;
  /** Processed bytes of the stream. Later bytes may have to be fed again (`dropTail`). */
  consumed = 0;
  /** The header of the last complete packet and its offset in the stream. */
  readonly last = { at: 0, header: Buffer.alloc(0) };
  /** Bytes between complete packets. */
  skippedBytes = 0;
  private damaged = 0;
  /** While searching for the next packet: whether all skipped bytes are 0, as after a power failure. */
  private searching = false;
  private onlyZeros = true;
  private buffer: Buffer = Buffer.allocUnsafe(0);
  private start = 0;
  private end = 0;

  /** `anyHeader` accepts a damaged header, for `repair`. */
  constructor(
    private readonly sink: PacketSink,
    private readonly anyHeader = false,
  ) {}

  /** Bytes of an incomplete packet at the end: the process is writing it, or was killed while writing it. */
  get tornBytes(): number {
    return this.end - this.start + (this.searching && this.onlyZeros ? this.searched : 0);
  }

  /** Packets or ranges of bytes with a wrong checksum. */
  get damagedPackets(): number {
    return this.damaged + (this.searching && !this.onlyZeros ? 1 : 0);
  }

  private searched = 0;

  feed(chunk: Buffer): void {
    this.append(chunk);
    if (this.flags === undefined && !this.readHeader()) return;
    while (this.end - this.start >= PACKET_HEADER_BYTES) {
      const { buffer, start: at } = this;
      if (!isHeader(buffer, at)) {
        if (!this.search()) break;
        continue;
      }
      const size = PACKET_HEADER_BYTES + buffer.readUInt32LE(at + 4);
      if (this.end - at < size) break;
      const payload = buffer.subarray(at + PACKET_HEADER_BYTES, at + size);
      this.last.at = this.consumed;
      this.last.header = Buffer.from(buffer.subarray(at, at + PACKET_HEADER_BYTES));
      this.take(size);
      if (crc32(payload) !== buffer.readUInt32LE(at + 16)) {
        this.damaged++;
        this.skippedBytes += size;
        continue;
      }
      this.found();
      this.sink.packet(buffer[at + 8]!, payload, buffer.subarray(at, at + size));
    }
  }

  /** Drops the unprocessed bytes, which are to be fed again. */
  dropTail(): void {
    this.end = this.start;
  }

  private take(bytes: number): void {
    this.start += bytes;
    this.consumed += bytes;
  }

  private append(chunk: Buffer): void {
    const kept = this.end - this.start;
    if (this.end + chunk.length > this.buffer.length) {
      // Doubling bounds the number of copies per byte.
      const larger = kept + chunk.length > this.buffer.length / 2;
      const target = larger ? Buffer.allocUnsafe(2 * (kept + chunk.length)) : this.buffer;
      this.buffer.copy(target, 0, this.start, this.end);
      this.buffer = target;
      this.start = 0;
      this.end = kept;
    }
    chunk.copy(this.buffer, this.end);
    this.end += chunk.length;
  }

  private readHeader(): boolean {
    const bytes = this.buffer.subarray(this.start, this.end);
    const seen = bytes.toString('latin1', 0, Math.min(MAGIC.length, bytes.length));
    if (!this.anyHeader && !MAGIC.startsWith(seen)) throw new UsageError('not a leak-audit capture');
    if (bytes.length < HEADER_BYTES) return false;
    const version = bytes.readUInt32LE(MAGIC.length);
    if (!this.anyHeader || seen === MAGIC) checkVersion(version, this.anyHeader);
    this.flags = seen === MAGIC ? bytes[FLAGS_AT]! | bytes[FOREIGN_FLAGS_AT]! : 0;
    this.take(HEADER_BYTES);
    return true;
  }

  /** Skips to the next possible packet. Returns false if more bytes are needed. */
  private search(): boolean {
    if (!this.searching) {
      this.searching = true;
      this.onlyZeros = true;
      this.searched = 0;
    }
    const next = this.buffer.subarray(0, this.end).indexOf(SYNC_BYTES, this.start + 1);
    const until = next >= 0 ? next : this.end - SYNC_BYTES.length + 1;
    for (let i = this.start; this.onlyZeros && i < until; i++) this.onlyZeros = this.buffer[i] === 0;
    this.searched += until - this.start;
    this.take(until - this.start);
    return next >= 0;
  }

  private found(): void {
    if (!this.searching) return;
    this.searching = false;
    this.damaged++;
    this.skippedBytes += this.searched;
  }
}

function isHeader(buffer: Buffer, at: number): boolean {
  return (
    buffer.readUInt32LE(at) === SYNC &&
    buffer.readUInt32LE(at + 4) <= MAX_PACKET_BYTES &&
    crc32(buffer.subarray(at, at + 12)) === buffer.readUInt32LE(at + 12)
  );
}

/** Rejects other format versions. With `lenient`, for `repair`, impossible versions count as damage. */
function checkVersion(version: number, lenient: boolean): void {
  const reads = `this version reads ${FORMAT_VERSION}`;
  if (version > FORMAT_VERSION && !(lenient && version > 0xffff)) {
    throw new UsageError(`written by a newer leak-audit (format ${version}, ${reads})`);
  }
  if (version < FORMAT_VERSION && !(lenient && version === 0)) {
    throw new UsageError(`written by an older leak-audit (format ${version}, ${reads}): record it again`);
  }
}
