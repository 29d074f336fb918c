/** Writes files atomically, through a temporary file with an unpredictable name. */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = fs.constants;

/** For files with data of a program: read and write only for the owner. */
export const OWNER_ALONE = 0o600;
/** For requested outputs: restricted only by the user's umask. */
const BY_UMASK = 0o666;

interface Mode {
  /** The mode to create the file with. */
  bits: number;
  /** Whether to set the bits that the umask removes as well. */
  exact: boolean;
}

/**
 * Keeps the mode of an existing file, because its owner may have restricted it. Another user's file gives no rights beyond
 * the umask: that user may have created it to read or write what replaces it.
 */
function modeOf(file: string): Mode {
  const there = fs.lstatSync(file, { throwIfNoEntry: false });
  if (there === undefined || !there.isFile()) return { bits: BY_UMASK, exact: false };
  const own = process.geteuid === undefined || there.uid === process.geteuid();
  return own
    ? { bits: there.mode & 0o777, exact: true }
    : { bits: (there.mode & BY_UMASK) | OWNER_ALONE, exact: false };
}

/**
 * Owns the file descriptor and the temporary file beside `file` until `finish`, `finishOpen` or `abandon`. Creating it fails
 * if the temporary name exists, so a planted link or file is not used.
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
      // Restores bits that the umask removed. Only if needed, because some file systems have no modes.
      if (exact && (fs.fstatSync(this.fd).mode & 0o777) !== bits) fs.fchmodSync(this.fd, bits);
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) done += fs.writeSync(this.opened, bytes, done);
  }

  /** Overwrites at `at`. */
  writeAt(bytes: Uint8Array, at: number): void {
    fs.writeSync(this.opened, bytes, 0, bytes.length, at);
  }

  /** Gives the file its name, with all that was written. */
  finish(): void {
    fs.closeSync(this.finishOpen());
  }

  /** Like `finish`; returns the descriptor of the written file, which the caller owns. */
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

  /** Leaves an existing file unchanged. Does nothing after `finish`. */
  abandon(): void {
    try {
      this.close();
      fs.rmSync(this.temporary, { force: true });
    } catch {
      // Removing the temporary file is best effort.
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

/** Writes a file atomically. */
export function writeWholeFile(file: string, content: string | Uint8Array, mode?: typeof OWNER_ALONE): void {
  fs.closeSync(writeOpen(file, content, mode));
}

/** Like `writeWholeFile`; returns a descriptor of the written file for reading and writing, which the caller owns. */
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
