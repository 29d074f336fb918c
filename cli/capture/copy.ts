/** Copies complete packets between captures, for `repair` and for joining the captures of several processes. */
import * as fs from 'node:fs';
import { UsageError } from '../errors/errors';
import { openNonBlocking } from '../files/regular-file';
import { OWNER_ALONE, WholeFile } from '../files/whole-file';
import { FLAGS_AT, Flag, fileHeader, PacketType, packet } from './format';
import { PacketScanner } from './packets';

const CHUNK_BYTES = 1 << 20;

/** Statistics of a copied file. */
export interface Copied {
  packets: number;
  rounds: number;
  /** Whether it has a start packet. */
  hasStart: boolean;
  flags: number;
  damagedPackets: number;
  skippedBytes: number;
  tornBytes: number;
}

/** Writes a capture, which gets its name only when it is complete. */
export class CaptureWriter {
  private readonly whole: WholeFile;
  private flags = 0;

  constructor(private readonly file: string) {
    this.whole = writing(file, () => new WholeFile(file, OWNER_ALONE));
    try {
      this.write(fileHeader(0));
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  /** Copies the packets of `source` with correct checksums. `anyHeader`: accepts a damaged file header. */
  copy(source: string, anyHeader = false, seen: (bytes: number, size: number) => void = () => {}): Copied {
    const found = { packets: 0, rounds: 0, hasStart: false };
    const sink = {
      packet: (type: number, _payload: Buffer, whole: Buffer) => {
        found.packets++;
        if (type === PacketType.Tick) found.rounds++;
        if (type === PacketType.Start) found.hasStart = true;
        this.write(whole);
      },
    };
    const scanner = new PacketScanner(sink, anyHeader);
    const fd = openNonBlocking(source);
    try {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const { size } = fs.fstatSync(fd);
      let done = 0;
      for (let n = fs.readSync(fd, chunk); n > 0; n = fs.readSync(fd, chunk)) {
        scanner.feed(chunk.subarray(0, n));
        done += n;
        seen(done, size);
      }
    } finally {
      fs.closeSync(fd);
    }
    const { damagedPackets, skippedBytes, tornBytes } = scanner;
    const flags = (scanner.flags ?? 0) | (damagedPackets > 0 ? Flag.lost : 0);
    this.flags |= flags;
    return { ...found, flags, damagedPackets, skippedBytes, tornBytes };
  }

  /** Starts the packets of another process. */
  process(info: { pid: number }): void {
    this.write(packet(PacketType.Process, Buffer.from(JSON.stringify(info))));
  }

  loss(): void {
    this.flags |= Flag.lost;
  }

  finish(): void {
    writing(this.file, () => {
      this.whole.writeAt(Buffer.from([this.flags & ~Flag.reserved]), FLAGS_AT);
      this.whole.finish();
    });
  }

  abandon(): void {
    this.whole.abandon();
  }

  private write(bytes: Buffer): void {
    writing(this.file, () => this.whole.write(bytes));
  }
}

function writing<T>(file: string, fn: () => T): T {
  try {
    return fn();
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${(error as NodeJS.ErrnoException).code ?? error}`);
  }
}
