/** The file of a capture, made before anything is recorded. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Flag, fileHeader } from '../capture/format';
import { UsageError } from '../errors';
import { OWNER_ALONE, writeOpen } from '../whole_file';

const WHY: Record<string, string> = {
  ENOENT: 'there is no such folder, or it takes no files',
  ENOTDIR: 'what should be its folder is a file',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EFBIG: 'this process may not write so much (ulimit -f)',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many files are open',
};

/** Why it could not be written, for people. */
function whyNot(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return WHY[code ?? ''] === undefined ? (code ?? message) : `${WHY[code!]} (${code})`;
}

/**
 * Makes the file that the process claims, for its owner alone. So a disk without room is found before anything is
 * recorded, and a program that could not record is told from one that made no tensors. An old capture goes when the new
 * one is there. `advice`: what to do where it cannot be made. Returns its descriptor, which the caller owns: another file may
 * take the name at any time.
 */
export function reserve(file: string, advice = 'Name another with -o FILE'): number {
  try {
    const there = fs.lstatSync(file, { throwIfNoEntry: false });
    // Its place would be taken: a program that writes to /dev/null would fill the disk from then on.
    if (there !== undefined && !there.isFile() && !there.isSymbolicLink())
      throw new UsageError(`cannot write ${file}: what is there is no file. ${advice}`);
    return writeOpen(file, fileHeader(Flag.reserved), OWNER_ALONE);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`cannot write ${file}: ${whyNot(error)}. ${advice}`);
  }
}

const ELSEWHERE = 'Name another folder with TMPDIR';
const LOOKED_AT = 'live.ltna';

/** The capture of a process that is only looked at, in a folder of its own below `under`. Nobody keeps it. The caller owns `fd`. */
export function reserveForLook(under: string): { folder: string; file: string; fd: number } {
  let folder: string;
  try {
    folder = fs.mkdtempSync(path.join(under, 'leak-audit-'));
  } catch (error) {
    throw new UsageError(`cannot make a folder in ${under}: ${whyNot(error)}. ${ELSEWHERE}`);
  }
  const file = path.join(folder, LOOKED_AT);
  try {
    return { folder, file, fd: reserve(file, ELSEWHERE) };
  } catch (error) {
    fs.rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Whether a capture of this name was made by that. */
export const isForLook = (file: string): boolean => path.basename(file) === LOOKED_AT;
