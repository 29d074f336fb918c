/** Files that are there whole or not at all. */
import * as fs from 'node:fs';

/** Node writes at most 2 GiB at a time. */
const MOST_AT_ONCE = 1 << 30;

/** Writes beside the file and renames at the end. A failure leaves what was there, and nothing beside it. */
export function writeWhole(path: string, write: (put: (bytes: Uint8Array) => void) => void): void {
  const partial = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}.partial`;
  const fd = fs.openSync(partial, 'wx');
  try {
    try {
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
