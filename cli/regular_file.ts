/** Reads files that a capture or another process names: a pipe must not make us wait, nor a device or size fill memory. */
import * as fs from 'node:fs';

const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = fs.constants;

/** Opens for reading without waiting: for a writer of a pipe, for example. */
export const openAtOnce = (file: string | URL, flags = 0): number =>
  fs.openSync(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags);

/** Its text; undefined where it is not a regular file, or has more than `most` bytes. Throws where it cannot be opened. */
export function readRegular(file: string | URL, most: number): string | undefined {
  const fd = openAtOnce(file);
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile() || stat.size > most) return undefined;
    const bytes = Buffer.allocUnsafe(stat.size);
    let done = 0;
    while (done < bytes.length) {
      const n = fs.readSync(fd, bytes, done, bytes.length - done, done);
      if (n === 0) break; // it became shorter
      done += n;
    }
    return bytes.toString('utf8', 0, done);
  } finally {
    fs.closeSync(fd);
  }
}
