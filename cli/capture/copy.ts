/** Copies whole packets from one capture to another: for `repair`, and to join the captures of several processes. */
import * as fs from 'node:fs';
import { UsageError } from '../errors';
import { FLAGS_AT, Flag, fileHeader, PacketType, packet } from './format';
import { PacketScanner } from './packets';

const CHUNK_BYTES = 1 << 20;

/** What was found in a file. */
export interface Copied {
  packets: number;
  rounds: number;
  /** Whether it says which process it is of. */
  hasStart: boolean;
  flags: number;
  damagedPackets: number;
  skippedBytes: number;
  tornBytes: number;
}

/** Writes a capture, which is there under its name only once it is complete. */
export class CaptureWriter {
  private readonly temporary: string;
  private readonly fd: number;
  private flags = 0;

  constructor(private readonly file: string) {
    this.temporary = `${file}.${process.pid}.tmp`;
    this.fd = writing(file, () => fs.openSync(this.temporary, 'wx', 0o600));
    this.write(fileHeader(0));
  }

  /** Takes what checksums vouch for in `source`. `anyHeader`: its header may be damaged. */
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
    const fd = fs.openSync(source, 'r');
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

  /** The packets that follow are of another process. */
  process(info: { pid: number }): void {
    this.write(packet(PacketType.Process, Buffer.from(JSON.stringify(info))));
  }

  loss(): void {
    this.flags |= Flag.lost;
  }

  finish(): void {
    writing(this.file, () => {
      fs.writeSync(this.fd, Buffer.from([this.flags & ~Flag.reserved]), 0, 1, FLAGS_AT);
      fs.closeSync(this.fd);
      fs.renameSync(this.temporary, this.file);
    });
  }

  abandon(): void {
    fs.closeSync(this.fd);
    fs.rmSync(this.temporary, { force: true });
  }

  private write(bytes: Buffer): void {
    writing(this.file, () => {
      for (let done = 0; done < bytes.length; ) done += fs.writeSync(this.fd, bytes, done);
    });
  }
}

function writing<T>(file: string, fn: () => T): T {
  try {
    return fn();
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${(error as NodeJS.ErrnoException).code ?? error}`);
  }
}
