/** Reads files named by a stack. A pipe must not block the program, and a device or a large file must not fill its memory. */
import * as fs from 'node:fs';

const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = fs.constants;

/** The text; undefined if it is not a regular file or has more than `maxBytes` bytes. Throws if it cannot be opened. */
export function readRegular(file: string | URL, maxBytes: number): string | undefined {
  // Without O_NONBLOCK, opening a pipe waits for a writer.
  const fd = fs.openSync(file, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile() || stat.size > maxBytes) return undefined;
    const bytes = Buffer.allocUnsafe(stat.size);
    let done = 0;
    while (done < bytes.length) {
      const n = fs.readSync(fd, bytes, done, bytes.length - done, done);
      if (n === 0) break; // truncated meanwhile
      done += n;
    }
    return bytes.toString('utf8', 0, done);
  } finally {
    fs.closeSync(fd);
  }
}
