/** Reads files named by a capture or another process: pipes must not block, devices and large files must not fill memory. */
import * as fs from 'node:fs';

const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = fs.constants;

/** Opens for reading without blocking, for example on a pipe without a writer. */
export const openNonBlocking = (file: string | URL, flags = 0): number =>
  fs.openSync(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags);

/** For errors: what a path names that is not a regular file. */
export const kindOf = (stat: fs.Stats): string =>
  stat.isDirectory() ? 'a folder' : stat.isFIFO() ? 'a pipe' : stat.isSocket() ? 'a socket' : 'a device';

type Identity = Pick<fs.Stats | fs.BigIntStats, 'dev' | 'ino'>;

/** Whether two names are of one file: the number of a file is unique only on its device. */
export const areSameFile = (one: Identity | undefined, other: Identity | undefined): boolean =>
  one !== undefined && one.ino === other?.ino && one.dev === other.dev;

/** The text of the file; undefined if it is not a regular file or is larger than `maxBytes`. @throws if it cannot be opened */
export function readRegular(file: string | URL, maxBytes: number): string | undefined {
  const fd = openNonBlocking(file);
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile() || stat.size > maxBytes) return undefined;
    const bytes = Buffer.allocUnsafe(stat.size);
    let done = 0;
    while (done < bytes.length) {
      const n = fs.readSync(fd, bytes, done, bytes.length - done, done);
      if (n === 0) break; // the file was truncated
      done += n;
    }
    return bytes.toString('utf8', 0, done);
  } finally {
    fs.closeSync(fd);
  }
}
