/** Creates the file of a capture before recording starts. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { UsageError } from '../errors/errors';
import { writerOf } from '../files/recorded';
import { OWNER_ALONE, writeOpen } from '../files/whole-file';
import { Flag, fileHeader } from './format';

const WHY: Record<string, string> = {
  ENOENT: 'the folder does not exist or does not accept files',
  ENOTDIR: 'its folder is a file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exceeded',
  EFBIG: 'the file size limit of this process is exceeded (ulimit -f)',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many files are open',
  ERR_ACCESS_DENIED: "Node's permission model denies it",
};

/** Why the file could not be written. */
function whyUnwritable(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return WHY[code ?? ''] === undefined ? (code ?? message) : `${WHY[code!]} (${code})`;
}

/**
 * Creates the file that the process will claim, with access only for its owner. A full disk is thus detected before
 * recording, and a program that could not record is distinguished from one without tensors. An old capture is replaced
 * atomically. `advice` is appended to errors. Returns the descriptor, which the caller owns, because another file may take
 * the name at any time.
 */
export function reserve(file: string, advice = 'Name another with -o FILE'): number {
  try {
    const there = fs.lstatSync(file, { throwIfNoEntry: false });
    // Do not replace a device: programs that write to /dev/null would then fill the disk.
    if (there !== undefined && !there.isFile() && !there.isSymbolicLink())
      throw new UsageError(`cannot write ${file}: not a regular file. ${advice}`);
    // Its recording would end without a word, and its report would be that of another program.
    const writer = writerOf(file);
    if (writer !== undefined)
      throw new UsageError(`cannot write ${file}: process ${writer} writes a capture there. ${advice}`);
    return writeOpen(file, fileHeader(Flag.reserved), OWNER_ALONE);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`cannot write ${file}: ${whyUnwritable(error)}. ${advice}`);
  }
}

/** The process that records to a file of `reserve`, as far as it still does. */
export const recorderOf = (file: string): number | undefined => writerOf(file);

const ELSEWHERE = 'Name another folder with TMPDIR';
const LIVE_NAME = 'live.ltna';

/** A new folder in `under`, the folder for temporary files. */
export function temporaryFolder(under: string, prefix = 'leak-audit-'): string {
  try {
    return fs.mkdtempSync(path.join(under, prefix));
  } catch (error) {
    throw new UsageError(`cannot create a folder in ${under}: ${whyUnwritable(error)}. ${ELSEWHERE}`);
  }
}

/** A temporary capture in a new folder below `under`. The caller owns `fd` and the folder. */
export function reserveTemporary(under: string, name: string): { folder: string; file: string; fd: number } {
  const folder = temporaryFolder(under);
  const file = path.join(folder, name);
  try {
    return { folder, file, fd: reserve(file, ELSEWHERE) };
  } catch (error) {
    fs.rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** A temporary capture for `live`. */
export const reserveForLive = (under: string) => reserveTemporary(under, LIVE_NAME);

/** Whether `file` is the name of a capture of `reserveForLive`. */
export const isForLive = (file: string): boolean => path.basename(file) === LIVE_NAME;
