/** Reads capture files, including growing ones. */
import * as fs from 'node:fs';
import { InvalidData, UsageError } from '../errors/errors';
import { kindOf, openNonBlocking } from '../files/regular-file';
import { Capture } from './capture';
import { json, Names, object } from './fields';
import { Flag, PacketType } from './format';
import { Lifetimes } from './lifetimes';
import { Budget } from './limits';
import { PacketScanner } from './packets';
import { mergeProcesses, processInfo } from './processes';
import { ProcessReader } from './rounds';

const CHUNK_BYTES = 1 << 20;
/** Processes of a file whose lifetimes are collected. */
const MAX_WITH_LIFETIMES = 16;

/** Parses a stream of bytes and adds complete packets to `capture`. */
export class CaptureParser {
  /** The capture of the first process in the file. `finish` returns the capture of all. */
  readonly capture = new Capture();
  private readonly scanner = new PacketScanner({ packet: (type, payload) => this.read(type, payload) });
  private readonly names: Names;
  private current: ProcessReader;
  private readonly captures = [this.capture];

  /** Files that are read into one report share a budget. `lifetimes`: also those of tensors that died. */
  constructor(
    private readonly budget = new Budget(),
    private readonly lifetimes = false,
  ) {
    this.names = new Names(budget);
    this.current = this.readerOf(this.capture);
  }

  /** Bytes of the file that need not be fed again after `dropTail`. */
  get consumed(): number {
    return this.scanner.consumed;
  }

  feed(chunk: Buffer): void {
    this.scanner.feed(chunk);
    const { capture, scanner } = this;
    const flags = scanner.flags ?? 0;
    capture.tornBytes = scanner.tornBytes;
    capture.damagedPackets = scanner.damagedPackets;
    capture.lostFlag = (flags & Flag.lost) !== 0;
    capture.capped = (flags & Flag.capped) !== 0;
    capture.wasFull = (flags & Flag.full) !== 0;
  }

  /** The header of the last complete packet and its offset in the file. */
  get last(): { readonly at: number; readonly header: Buffer } {
    return this.scanner.last;
  }

  /** Drops the beginning of an incomplete packet. */
  dropTail(): void {
    this.scanner.dropTail();
  }

  /** Whether leak-audit created the file and no program has written to it. */
  get unclaimed(): boolean {
    return ((this.scanner.flags ?? 0) & Flag.reserved) !== 0;
  }

  /** The captures of the processes so far. */
  get parts(): readonly Capture[] {
    return this.captures;
  }

  /** Returns the capture of all processes at the end of the input. */
  finish(): Capture {
    if (this.captures.length > 1) return mergeProcesses(this.captures);
    if (this.capture.start !== undefined) this.capture.processes[0] = processInfo(this.capture, 0);
    return this.capture;
  }

  private readerOf(capture: Capture): ProcessReader {
    const has = this.lifetimes && this.captures.length <= MAX_WITH_LIFETIMES;
    return new ProcessReader(capture, this.budget, this.names, has ? new Lifetimes() : undefined);
  }

  private read(type: number, payload: Buffer): void {
    if (type === PacketType.Process) {
      object(json(payload, 0, 'process'), 'process');
      this.budget.take('processes');
      const capture = new Capture();
      this.captures.push(capture);
      this.current = this.readerOf(capture);
    } else {
      this.current.read(type, payload);
    }
  }
}

/** Follows a file that may not exist yet, grows, or is replaced by a shorter one (`--max-size`). */
export class CaptureFollower {
  private parser = new CaptureParser();
  private fd: number | undefined;
  private inode = 0;
  /** The owner of a file passed as a descriptor. A file that replaces it must have the same owner. */
  private owner: number | undefined;

  /** `fd`: a descriptor of the file if it is already open; owned by the follower. */
  constructor(
    readonly file: string,
    fd?: number,
  ) {
    if (fd === undefined) return;
    const { ino, uid } = fs.fstatSync(fd);
    this.fd = fd;
    this.inode = ino;
    this.owner = uid;
  }

  get capture(): Capture {
    return this.parser.capture;
  }

  /** The captures of the processes that are joined in the file. */
  get parts(): readonly Capture[] {
    return this.parser.parts;
  }

  get unclaimed(): boolean {
    return this.parser.unclaimed;
  }

  /** Reads the bytes appended since the last call. Returns false while there is no file. `seen` reports progress. */
  poll(seen: (bytes: number, size: number) => void = () => {}): boolean {
    if (this.owner === undefined) {
      const stat = fs.statSync(this.file, { throwIfNoEntry: false });
      if (stat === undefined && this.fd === undefined) return false;
      if (this.fd !== undefined && stat !== undefined && stat.ino !== this.inode) this.close();
    } else this.followReplacement(this.owner);
    this.fd ??= openNonBlocking(this.file);
    const now = fs.fstatSync(this.fd);
    if (!now.isFile()) throw new UsageError(`expected a capture, got ${kindOf(now)}`);
    const { ino, size } = now;
    if ((this.inode !== 0 && ino !== this.inode) || !this.stillThere(this.fd)) this.parser = new CaptureParser();
    this.inode = ino;
    this.parser.dropTail();
    let at = this.parser.consumed;
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (;;) {
      const n = fs.readSync(this.fd, chunk, 0, chunk.length, at);
      if (n === 0) return true;
      this.parser.feed(chunk.subarray(0, n));
      at += n;
      seen(at, size);
    }
  }

  /** Switches to the file by which the process replaced this one for `--max-size`; not to a link or another user's file. */
  private followReplacement(owner: number): void {
    const stat = fs.lstatSync(this.file, { throwIfNoEntry: false });
    if (stat === undefined || !stat.isFile() || stat.uid !== owner || stat.ino === this.inode) return;
    let fd: number;
    try {
      fd = openNonBlocking(this.file, fs.constants.O_NOFOLLOW);
    } catch {
      return; // replaced again; the next poll follows
    }
    const opened = fs.fstatSync(fd);
    if (opened.isFile() && opened.uid === owner) {
      this.close();
      this.fd = fd;
    } else fs.closeSync(fd);
  }

  /** Whether the last packet is unchanged: the process truncates the file after a failed write, for example on a full disk. */
  private stillThere(fd: number): boolean {
    const { at, header } = this.parser.last;
    const bytes = Buffer.alloc(header.length);
    return fs.readSync(fd, bytes, 0, bytes.length, at) === header.length && bytes.equals(header);
  }

  /** The capture of all processes in the file. */
  finish(): Capture {
    return this.parser.finish();
  }

  /** The open file; undefined while there is none. */
  get descriptor(): number | undefined {
    return this.fd;
  }

  close(): void {
    if (this.fd !== undefined) fs.closeSync(this.fd);
    this.fd = undefined;
  }
}

/** Reads a capture file. @throws {UsageError} if it is not a capture */
export function readCapture(file: string, seen?: (bytes: number, size: number) => void): Capture {
  const follower = new CaptureFollower(file);
  return withFileName(file, () => {
    try {
      if (!follower.poll(seen)) throw new UsageError('no such file');
      if (follower.capture.start === undefined && !follower.unclaimed && !follower.capture.lostFlag) {
        throw new UsageError('not a leak-audit capture (empty or truncated)');
      }
      return follower.finish();
    } finally {
      follower.close();
    }
  });
}

/** Runs `fn`, which reads `file`, and turns its errors into one line with the file's name. */
export function withFileName<T>(file: string, fn: () => T): T {
  try {
    return fn();
  } catch (error) {
    throw new UsageError(`${file}: ${reason(error)}`);
  }
}

function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof InvalidData) return `damaged (${message})`;
  if (error instanceof UsageError) return message;
  if (code === 'ENOENT') return 'no such file';
  if (code === 'EISDIR') return 'expected a capture, got a folder';
  if (code === 'EACCES') return 'permission denied (EACCES)';
  if (code?.startsWith('E') && !code.startsWith('ERR_')) return `cannot be read (${code})`;
  return `damaged (${message.split('\n', 1)[0]})`;
}
