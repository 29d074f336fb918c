/** Files that are there whole or not at all. */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { codedError } from '../errors';

/** Node writes at most 2 GiB at a time. */
const MOST_AT_ONCE = 1 << 30;
const { O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_WRONLY } = fs.constants;
/** Only a new file: not one that somebody else made before, nor one that a link leads to. */
const NEW = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
/** Before the umask, as for every new file. */
const ORDINARY = 0o666;

/**
 * The permissions of the user's own file that is replaced: one that was private stays so. Whoever else put a file there does
 * not open this user's: it gets what the umask leaves, and no more than the other file had. A FIFO or a device is not replaced.
 */
function modeFor(path: string): { mode: number; replacesOwn: boolean } {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || stat.isSymbolicLink()) return { mode: ORDINARY, replacesOwn: false };
  if (stat.isFile()) {
    const own = process.geteuid === undefined || stat.uid === process.geteuid();
    return own
      ? { mode: stat.mode & 0o777, replacesOwn: true }
      : { mode: (stat.mode & ORDINARY) | 0o600, replacesOwn: false };
  }
  const kind = stat.isDirectory() ? 'a folder' : 'a FIFO, a socket or a device';
  throw codedError(Error, 'ERR_TORCH_FILE', `${path}: expected a place for a regular file, got ${kind}`);
}

/**
 * Writes beside the file, under a name that nobody can guess, and renames at the end. A failure leaves what was there, and
 * nothing beside it.
 */
export function writeWhole(path: string, write: (put: (bytes: Uint8Array) => void) => void): void {
  const { mode, replacesOwn } = modeFor(path);
  const partial = `${path}.${randomBytes(9).toString('hex')}.partial`;
  const fd = fs.openSync(partial, NEW, mode);
  try {
    try {
      if (replacesOwn) fs.fchmodSync(fd, mode); // what the umask took away
      write((bytes) => {
        for (let at = 0; at < bytes.length; )
          at += fs.writeSync(fd, bytes, at, Math.min(bytes.length - at, MOST_AT_ONCE));
      });
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(partial, path);
  } catch (error) {
    fs.rmSync(partial, { force: true }); // nothing half-written stays
    throw error;
  }
}
