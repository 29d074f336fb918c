/** Atomic file writes. */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { codedError } from '../errors/errors';

/** Node writes at most 2 GiB per call. */
const MAX_IO_BYTES = 1 << 30;
const { O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_WRONLY } = fs.constants;
/** Creates a new file: fails for an existing file or a symbolic link. */
const NEW = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
/** The mode of new files, before the umask. */
const DEFAULT_MODE = 0o666;

/**
 * The permissions of the file being replaced, if it is the user's own: a private file stays private. Another user's file
 * must not widen them: the new file gets what the umask leaves, and no more than the old file had. FIFOs and devices are
 * refused.
 */
function modeFor(path: string): { mode: number; replacesOwn: boolean } {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || stat.isSymbolicLink()) return { mode: DEFAULT_MODE, replacesOwn: false };
  if (stat.isFile()) {
    const own = process.geteuid === undefined || stat.uid === process.geteuid();
    return own
      ? { mode: stat.mode & 0o777, replacesOwn: true }
      : { mode: (stat.mode & DEFAULT_MODE) | 0o600, replacesOwn: false };
  }
  const kind = stat.isDirectory() ? 'a folder' : 'a FIFO, a socket or a device';
  throw codedError(Error, 'ERR_TORCH_FILE', `${path}: expected a path for a regular file, got ${kind}`);
}

/**
 * Writes to an unpredictable name beside the file and renames it at the end. On failure the old file is unchanged and no
 * partial file remains.
 */
export function writeWhole(path: string, write: (put: (bytes: Uint8Array) => void) => void): void {
  const { mode, replacesOwn } = modeFor(path);
  const partial = `${path}.${randomBytes(9).toString('hex')}.partial`;
  const fd = fs.openSync(partial, NEW, mode);
  try {
    try {
      if (replacesOwn) fs.fchmodSync(fd, mode); // restores the bits that the umask removed
      write((bytes) => {
        for (let at = 0; at < bytes.length; )
          at += fs.writeSync(fd, bytes, at, Math.min(bytes.length - at, MAX_IO_BYTES));
      });
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(partial, path);
  } catch (error) {
    fs.rmSync(partial, { force: true });
    throw error;
  }
}
