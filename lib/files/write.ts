/** Atomic file writes. */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { getSystemErrorMap } from 'node:util';
import { native } from '../addon/native';
import { codedError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';
import { bytesOfTensor } from './bytes';
import type { Crc32 } from './zip';
import type { FileSink, Sink } from './zip-writer';

/** Node writes at most 2 GiB per call. */
const MAX_IO_BYTES = 1 << 30;
const { O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_WRONLY } = fs.constants;
/** Creates a new file: fails for an existing file or a symbolic link. */
const NEW = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
/** The mode of new files, before the umask. */
const DEFAULT_MODE = 0o666;

/**
 * The permissions of the file being replaced, if it is the user's own: a private file stays private. Another user's file
 * must not widen them: the new file gets what the umask leaves, and no more than the old file had. FIFOs and devices are
 * refused.
 */
function modeFor(path: string): { mode: number; replacesOwn: boolean } {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || stat.isSymbolicLink()) return { mode: DEFAULT_MODE, replacesOwn: false };
  if (stat.isFile()) {
    const own = process.geteuid === undefined || stat.uid === process.geteuid();
    return own
      ? { mode: stat.mode & 0o777, replacesOwn: true }
      : { mode: (stat.mode & DEFAULT_MODE) | 0o600, replacesOwn: false };
  }
  const kind = stat.isDirectory() ? 'a folder' : 'a FIFO, a socket or a device';
  throw codedError(Error, 'ERR_TORCH_FILE', `${path}: expected a path for a regular file, got ${kind}`);
}

/** The file that `writeWhole` writes. It appends, except for `patch`. */
export class WholeFile implements Sink, FileSink {
  readonly file = this;
  readonly #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  put(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      at += fs.writeSync(this.#fd, bytes, at, Math.min(bytes.length - at, MAX_IO_BYTES));
    }
  }

  /** Writes a flat uint8 tensor from its own memory, and adds the bytes to `sum`. */
  putTensor(tensor: Tensor, sum?: Crc32): void {
    const written = native.writeBytes(tensor._handle, this.#fd, sum?.state ?? null);
    if (written === tensor.numel) return;
    // Node's write reports why native code could not go on.
    const rest = ownScope(() => bytesOfTensor(tensor.narrow(0, written, (tensor.numel as number) - written) as Tensor));
    sum?.add(rest);
    this.put(rest);
  }

  /** Lets native code append: `write` gives the errno of the write that failed, or 0. */
  putBy(write: (descriptor: number) => number): void {
    requireDone('write', write(this.#fd));
  }

  /** Replaces bytes that were written. */
  patch(from: number, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) at += fs.writeSync(this.#fd, bytes, at, bytes.length - at, from + at);
  }
}

/** Throws as Node does for a failed call of the system. */
function requireDone(syscall: string, errno: number): void {
  if (errno === 0) return;
  const [code, text] = getSystemErrorMap().get(-errno) ?? ['EIO', 'i/o error'];
  throw Object.assign(new Error(`${code}: ${text}, ${syscall}`), { errno: -errno, code, syscall });
}

/** The most bytes of a file's name that its temporary name begins with: file systems limit a name to 255. */
const SHOWN_BYTES = 200;

/** A name beside the file. The folder is not normalized: in 'link/../x', the system follows the link before it goes up. */
function nameBeside(path: string): string {
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const shown = Buffer.from(path.slice(folder.length)).subarray(0, SHOWN_BYTES).toString();
  return `${folder}${shown}.${randomBytes(9).toString('hex')}.partial`;
}

/** Errors name the file that the program asked for: the other name means nothing to its reader. */
function createBeside(path: string, partial: string, mode: number): number {
  try {
    return fs.openSync(partial, NEW, mode);
  } catch (error) {
    const failure = error as NodeJS.ErrnoException;
    if (failure.path === partial) {
      for (const text of ['message', 'stack'] as const)
        failure[text] = failure[text]?.replace(partial, () => path) ?? '';
      failure.path = path;
    }
    throw failure;
  }
}

/** A write to a full disk: Node names no file, as it has only a descriptor. */
function named(error: unknown, path: string): unknown {
  const failure = error as NodeJS.ErrnoException | null | undefined; // a program's getter may throw anything
  if (failure?.errno === undefined || failure.path !== undefined) return error;
  const { message, stack } = failure;
  const text = `${message} '${path}'`;
  if (typeof stack === 'string') failure.stack = stack.replace(message, () => text);
  return Object.assign(failure, { message: text, path });
}

/**
 * Writes to an unpredictable name beside the file and renames it at the end. On failure the old file is unchanged and no
 * partial file remains.
 */
export function writeWhole(path: string, write: (file: WholeFile) => void): void {
  const { mode, replacesOwn } = modeFor(path);
  const partial = nameBeside(path);
  const fd = createBeside(path, partial, mode);
  try {
    try {
      // Not by Node, whose permission model has no flag that allows these two, even where writing is allowed.
      if (replacesOwn) requireDone('fchmod', native.changeMode(fd, mode)); // restores the bits that the umask removed
      write(new WholeFile(fd));
      requireDone('fsync', native.syncFile(fd));
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(partial, path);
  } catch (error) {
    fs.rmSync(partial, { force: true });
    throw named(error, path);
  }
}
