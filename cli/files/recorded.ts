/** Captures that must not be overwritten: one that a process still writes, or one that is given for another output. */
import * as fs from 'node:fs';
import { openNonBlocking } from './regular-file';

/** The first bytes of a capture. */
export const MAGIC = 'LTNAUDIT';

const { O_WRONLY, O_RDWR } = fs.constants;

export function isCapture(file: string): boolean {
  try {
    const fd = openNonBlocking(file);
    try {
      const bytes = Buffer.alloc(MAGIC.length);
      return fs.fstatSync(fd).isFile() && fs.readSync(fd, bytes, 0, bytes.length, 0) > 0 && bytes.toString() === MAGIC;
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return false; // no such file, or one that cannot be read
  }
}

/**
 * Another process that has the capture open for writing: the recorded one, or the leak-audit that waits for it to load the
 * library. Undefined if there is none, or none that this user may see.
 */
export function writerOf(file: string): number | undefined {
  if (!isCapture(file)) return undefined;
  const place = fs.realpathSync(file);
  return list('/proc')
    .map(Number)
    .find((pid) => pid > 0 && pid !== process.pid && writes(pid, place));
}

function writes(pid: number, place: string): boolean {
  // By name, because a stat of another process's file may block on a file system that does not answer.
  return list(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === place && isForWriting(pid, fd));
}

function isForWriting(pid: number, fd: string): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(fs.readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8'))?.[1];
    return (Number.parseInt(flags ?? '0', 8) & (O_WRONLY | O_RDWR)) !== 0;
  } catch {
    return false; // closed in the meantime
  }
}

function linkOf(link: string): string | undefined {
  try {
    return fs.readlinkSync(link);
  } catch {
    return undefined; // closed in the meantime
  }
}

/** Empty for a process that has ended or belongs to another user, and where there is no /proc. */
function list(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}
