/** Reads files that a stack names: a pipe must not make the program wait, nor a device or size fill its memory. */
import * as fs from 'node:fs';

const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = fs.constants;

/** Its text; undefined where it is not a regular file, or has more than `most` bytes. Throws where it cannot be opened. */
export function readRegular(file: string | URL, most: number): string | undefined {
  // Without O_NONBLOCK the opening of a pipe waits for a writer.
  const fd = fs.openSync(file, O_RDONLY | O_NONBLOCK | O_NOCTTY);
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
