/** Reads files named by a capture or another process: pipes must not block, devices and large files must not fill memory. */
import * as fs from 'node:fs';

const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = fs.constants;

/** Opens for reading without blocking, for example on a pipe without a writer. */
export const openNonBlocking = (file: string | URL, flags = 0): number =>
  fs.openSync(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags);

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

/** Whether both names lead to one file: two file systems may have the same inode number. */
export function isSameFile(a: string, b: string): boolean {
  const [one, other] = [a, b].map((file) => fs.statSync(file, { bigint: true, throwIfNoEntry: false }));
  return one !== undefined && one.dev === other?.dev && one.ino === other.ino;
}
