/** Unnamed files for heaps, which contain a program's secrets. The kernel frees them even if a process is killed. */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { UsageError } from '../errors/errors';
import { OWNER_ALONE } from '../files/whole-file';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = fs.constants;

/**
 * Opens a new file in the folder for temporary files and unlinks it at once, so the kernel frees it with its last
 * descriptor. Writers open the descriptor through /proc. The caller owns the descriptor.
 */
export function openPrivate(): number {
  const file = path.join(os.tmpdir(), `.leak-audit-${randomBytes(16).toString('hex')}.heap`);
  try {
    const fd = fs.openSync(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, OWNER_ALONE);
    fs.rmSync(file);
    return fd;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `cannot write a heap snapshot to ${os.tmpdir()} (${code ?? message}): name another folder with TMPDIR`,
    );
  }
}
