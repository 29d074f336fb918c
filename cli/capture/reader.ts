/** Reads captures: whole files, and files that still grow. */
import * as fs from 'node:fs';
import { UsageError } from '../errors';
import { Capture, type EndInfo, type Frame, type Series, type StartInfo, type Tick } from './capture';
import {
  crc32,
  deviceName,
  FORMAT_VERSION,
  HEADER_BYTES,
  MAGIC,
  MAX_PACKET_BYTES,
  PACKET_HEADER_BYTES,
  PacketType,
  ROW_BYTES,
  TICK_BYTES,
} from './format';

const NONE = -(2n ** 63n);

/** Takes bytes in any portions and adds to `capture` what whole packets in them tell. */
export class CaptureParser {
  readonly capture = new Capture();
  private rest: Buffer = Buffer.alloc(0);
  private sawHeader = false;
  /** After a bad checksum nothing can be trusted, since lengths may be wrong too. */
  private damaged = false;

  feed(chunk: Buffer): void {
    if (this.damaged) {
      this.capture.tornBytes += chunk.length;
      return;
    }
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    let at = this.sawHeader ? 0 : this.readHeader();
    while (this.sawHeader && this.rest.length - at >= PACKET_HEADER_BYTES) {
      const length = this.rest.readUInt32LE(at);
      const begin = at + PACKET_HEADER_BYTES;
      const impossible = length < 1 || length > MAX_PACKET_BYTES;
      if (!impossible && this.rest.length - begin < length) break;
      const body = this.rest.subarray(begin, begin + length);
      if (impossible || crc32(body) !== this.rest.readUInt32LE(at + 4)) {
        this.damaged = true;
        break;
      }
      this.readPacket(body[0]!, body.subarray(1));
      at = begin + length;
    }
    this.rest = this.rest.subarray(at);
    this.capture.tornBytes = this.rest.length;
  }

  private readHeader(): number {
    const seen = this.rest.toString('latin1', 0, Math.min(MAGIC.length, this.rest.length));
    if (!MAGIC.startsWith(seen)) throw new UsageError('not a leak-audit capture');
    if (this.rest.length < HEADER_BYTES) return 0;
    const version = this.rest.readUInt32LE(MAGIC.length);
    if (version > FORMAT_VERSION) {
      throw new UsageError(`written by a newer leak-audit (format ${version}, this one reads ${FORMAT_VERSION})`);
    }
    this.sawHeader = true;
    return HEADER_BYTES;
  }

  private readPacket(type: number, payload: Buffer): void {
    const { capture } = this;
    switch (type) {
      case PacketType.Start:
        capture.start = JSON.parse(payload.toString('utf8')) as StartInfo;
        break;
      case PacketType.End:
        capture.end = JSON.parse(payload.toString('utf8')) as EndInfo;
        break;
      case PacketType.Site:
        capture.environments.set(payload.readUInt32LE(0), payload.readUInt32LE(8));
        capture.stacks.set(payload.readUInt32LE(0), JSON.parse(payload.toString('utf8', 12)) as Frame[]);
        break;
      case PacketType.EnvironmentEnd:
        capture.ended.set(payload.readUInt32LE(0), capture.ticks.length - 1);
        break;
      case PacketType.Tick:
        this.readTick(payload);
        break;
      default: // from a later version of the same format: skipped
    }
  }

  private readTick(payload: Buffer): void {
    const u64 = (at: number) => Number(payload.readBigUInt64LE(at));
    const tick: Tick = {
      ms: u64(0),
      tensors: u64(8),
      storages: u64(16),
      bytes: u64(24),
      allocatedBytes: u64(32),
      peakAllocatedBytes: u64(40),
      rss: u64(48),
      heapUsed: u64(56),
      external: u64(64),
      lost: u64(72),
      collections: payload.readUInt32LE(80),
    };
    const index = this.capture.ticks.push(tick) - 1;
    const rows = payload.readUInt32LE(84);
    for (let i = 0, at = TICK_BYTES; i < rows; i++, at += ROW_BYTES) {
      const device = deviceName(payload.readInt8(at + 4), payload.readInt8(at + 5));
      const series = this.seriesOf(payload.readUInt32LE(at), device);
      const birth = payload.readBigInt64LE(at + 40);
      series.ticks.push(index);
      series.liveTensors.push(u64(at + 8));
      series.liveBytes.push(u64(at + 16));
      series.allocatedTensors.push(u64(at + 24));
      series.allocatedBytes.push(u64(at + 32));
      series.oldestBirthMs.push(birth === NONE ? Number.NaN : Number(birth));
    }
  }

  private seriesOf(siteId: number, device: string): Series {
    const key = `${siteId} ${device}`;
    let series = this.capture.series.get(key);
    if (series === undefined) {
      series = {
        siteId,
        device,
        ticks: [],
        liveTensors: [],
        liveBytes: [],
        allocatedTensors: [],
        allocatedBytes: [],
        oldestBirthMs: [],
      };
      this.capture.series.set(key, series);
    }
    return series;
  }
}

/** Follows a file that may not exist yet and grows. */
export class CaptureFollower {
  readonly parser = new CaptureParser();
  private fd: number | undefined;

  constructor(private readonly file: string) {}

  get capture(): Capture {
    return this.parser.capture;
  }

  /** Reads what was appended since the last call. False while there is no file. */
  poll(): boolean {
    try {
      this.fd ??= fs.openSync(this.file, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
    for (;;) {
      const chunk = Buffer.allocUnsafe(1 << 20); // fresh: the parser keeps parts of it
      const n = fs.readSync(this.fd, chunk, 0, chunk.length, null);
      if (n === 0) return true;
      this.parser.feed(chunk.subarray(0, n));
    }
  }

  close(): void {
    if (this.fd !== undefined) fs.closeSync(this.fd);
    this.fd = undefined;
  }
}

/** A whole capture file. Throws UsageError when it is none. */
export function readCapture(file: string): Capture {
  const follower = new CaptureFollower(file);
  try {
    if (!follower.poll()) throw new UsageError('no such file');
    if (follower.capture.start === undefined) throw new UsageError('not a leak-audit capture (it is empty or cut off)');
    return follower.capture;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (error instanceof UsageError) throw new UsageError(`${file}: ${error.message}`);
    if (code !== undefined) throw new UsageError(`${file}: cannot be read (${code})`);
    throw new UsageError(`${file}: damaged (${(error as Error).message})`);
  } finally {
    follower.close();
  }
}
