/** Files that are there whole or not at all, written under a name that nobody can foresee. */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = fs.constants;

/** Readable and writable for its owner alone: what holds data of a program. */
export const OWNER_ALONE = 0o600;
/** As the user's umask says: what was asked for to be shown. */
const AS_UMASK_SAYS = 0o666;

interface Mode {
  /** What the file is made with. */
  bits: number;
  /** Whether it gets all of them, also those that the umask takes away. */
  exact: boolean;
}

/**
 * Modes of what is there already: who took rights away from a file wants them taken from its next content. Another user's file
 * gives no rights beyond the umask: they may have put it there to read, or to write to, what takes its place.
 */
function modeOf(file: string): Mode {
  const there = fs.lstatSync(file, { throwIfNoEntry: false });
  if (there === undefined || !there.isFile()) return { bits: AS_UMASK_SAYS, exact: false };
  const own = process.geteuid === undefined || there.uid === process.geteuid();
  return own
    ? { bits: there.mode & 0o777, exact: true }
    : { bits: (there.mode & AS_UMASK_SAYS) | OWNER_ALONE, exact: false };
}

/**
 * Owns the file descriptor and the temporary file beside `file` until `finish`, `finishOpen` or `abandon`. The temporary name is new, or
 * making it fails: a link or a file that somebody planted is neither followed nor taken.
 */
export class WholeFile {
  private readonly temporary: string;
  private fd: number | undefined;

  constructor(
    private readonly file: string,
    mode?: typeof OWNER_ALONE,
  ) {
    const { bits, exact } = mode === undefined ? modeOf(file) : { bits: mode, exact: true };
    this.temporary = path.join(path.dirname(file), `.leak-audit-${randomBytes(12).toString('hex')}.tmp`);
    this.fd = fs.openSync(this.temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, bits);
    try {
      // The umask took some of it away. Not asked for where nothing changes: some file systems have no modes.
      if (exact && (fs.fstatSync(this.fd).mode & 0o777) !== bits) fs.fchmodSync(this.fd, bits);
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) done += fs.writeSync(this.opened, bytes, done);
  }

  /** Over what was written. */
  writeAt(bytes: Uint8Array, at: number): void {
    fs.writeSync(this.opened, bytes, 0, bytes.length, at);
  }

  /** It is there, under its name, with all that was written. */
  finish(): void {
    fs.closeSync(this.finishOpen());
  }

  /** The same. The caller owns the descriptor that comes back: its file is the one that was written, whatever the name does. */
  finishOpen(): number {
    try {
      fs.fsyncSync(this.opened);
      fs.renameSync(this.temporary, this.file);
    } catch (error) {
      this.abandon();
      throw error;
    }
    const fd = this.opened;
    this.fd = undefined;
    return fd;
  }

  /** Leaves what was there before. Does nothing after `finish`. */
  abandon(): void {
    try {
      this.close();
      fs.rmSync(this.temporary, { force: true });
    } catch {
      // Where nothing can be written or removed, nothing more can be done.
    }
  }

  private get opened(): number {
    if (this.fd === undefined) throw new Error('the file is closed');
    return this.fd;
  }

  private close(): void {
    if (this.fd === undefined) return;
    const { fd } = this;
    this.fd = undefined;
    fs.closeSync(fd);
  }
}

/** All at once. */
export function writeWholeFile(file: string, content: string | Uint8Array, mode?: typeof OWNER_ALONE): void {
  fs.closeSync(writeOpen(file, content, mode));
}

/** The same. The caller owns the descriptor, to read and write, of the file that was written. */
export function writeOpen(file: string, content: string | Uint8Array, mode?: typeof OWNER_ALONE): number {
  const whole = new WholeFile(file, mode);
  try {
    whole.write(typeof content === 'string' ? Buffer.from(content) : content);
  } catch (error) {
    whole.abandon();
    throw error;
  }
  return whole.finishOpen();
}
