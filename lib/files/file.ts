/** Regular files: read in parts into the tensors' memory, or memory-mapped if the program asks for it. */
import * as fs from 'node:fs';
import { native } from '../addon/native';
import { spaces } from '../call/functions';
import { codedError } from '../errors/errors';
import { keep } from '../lifetimes/movable';
import { ownScope } from '../lifetimes/scope';
import { type Tensor, wrap } from '../tensor/tensor';
import type { TensorSource } from './source';
import type { Crc32 } from './zip';

const { fromFile } = spaces['']! as unknown as Record<string, (...args: unknown[]) => Tensor>;

/** Bytes read at a time where native code does not read them. */
const PART = 1 << 18;
/** Node reads less than 2 GiB per call. */
const MAX_IO_BYTES = 1 << 30;

function kindOf(stat: { isDirectory(): boolean; isFIFO(): boolean; isSocket(): boolean }): string {
  if (stat.isDirectory()) return 'a folder';
  if (stat.isFIFO()) return 'a FIFO';
  return stat.isSocket() ? 'a socket' : 'a device';
}

/** Closes the descriptors of files that were collected without close(). */
const abandoned = new FinalizationRegistry<number>((fd) => fs.closeSync(fd));

const instant = (ns: bigint): string => new Date(Number(ns / 1_000_000n)).toISOString();

/**
 * A file that stays open until close(); a file that replaces it under the same name is ignored. Data is read through the
 * descriptor, so truncation by another program is an error and does not end the process. Owns the descriptor and, with
 * `mmap`, a private mapping of the whole file: writing to its memory changes this process's pages, never the file. Tensors
 * over the mapping keep it alive after close().
 */
export class RegularFile implements TensorSource {
  readonly size: number;
  readonly #fail: (what: string) => Error;
  readonly #changed: bigint;
  #fd: number | undefined;
  #mapped: Tensor | undefined;

  /** Throws Node's error for a file that cannot be opened, and `fail(what)` for an empty one and for anything but a regular file. */
  constructor(path: string, fail: (what: string) => Error, { mmap = false } = {}) {
    this.#fail = fail;
    demandRegular(path, fs.statSync(path), fail); // before open(), which may have effects on a device
    // The path may name something else by now: O_NONBLOCK keeps a FIFO from waiting for its writer, fstat checks again.
    const fd = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    try {
      const stat = fs.fstatSync(fd, { bigint: true });
      demandRegular(path, stat, fail);
      this.size = Number(stat.size);
      this.#changed = stat.mtimeNs;
      if (mmap) this.#mapped = mapping(fd, path, this.size);
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
    this.#fd = fd;
    abandoned.register(this, fd, this);
  }

  /** The descriptor, for native code that reads from it before close(). */
  get fd(): number {
    if (this.#fd === undefined) throw this.#fail('the file was closed');
    return this.#fd;
  }

  get isOpen(): boolean {
    return this.#fd !== undefined;
  }

  read(from: number, length: number): Uint8Array {
    const bytes = newBuffer(length);
    this.#readInto(from, bytes);
    return bytes;
  }

  /** The bytes as a uint8 tensor: a view of the mapping, or a copy if there is no mapping or the offset is not aligned. */
  tensor(from: number, length: number, itemSize: number, sum?: Crc32): Tensor {
    if (this.#mapped === undefined || from % itemSize !== 0) return this.#copied(from, length, sum);
    for (let at = 0; sum !== undefined && at < length; at += PART) {
      sum.add(this.read(from + at, Math.min(PART, length - at)));
    }
    return this.#mapped.narrow(0, from, length) as Tensor;
  }

  /** The bytes in newly allocated memory. */
  #copied(from: number, length: number, sum: Crc32 | undefined): Tensor {
    const whole = wrap(native.newBytes(length))!; // before reading: the memory limit may refuse it
    let at = native.readBytes(whole._handle, this.fd, from, sum?.state ?? null);
    // After a short read, this loop reports the reason.
    for (; at < length; at += PART) {
      const bytes = this.read(from + at, Math.min(PART, length - at));
      sum?.add(bytes);
      native.fillBytes(whole._handle, at, bytes);
    }
    return whole;
  }

  #readInto(from: number, bytes: Uint8Array): void {
    const { fd } = this;
    for (let at = 0; at < bytes.length; ) {
      const got = fs.readSync(fd, bytes, at, Math.min(bytes.length - at, MAX_IO_BYTES), from + at);
      if (got === 0) {
        this.demandUnchanged();
        throw this.#fail(`the file was truncated while it was read: expected ${this.size} bytes, got ${from + at}`);
      }
      at += got;
    }
  }

  /** Throws if the file was modified since it was opened: the data may be a mix of old and new contents. */
  demandUnchanged(): void {
    const { size, mtimeNs } = fs.fstatSync(this.fd, { bigint: true });
    if (size === BigInt(this.size) && mtimeNs === this.#changed) return;
    throw this.#fail(
      `the file was modified since it was opened: expected ${this.size} bytes written ${instant(this.#changed)}, ` +
        `got ${size} bytes written ${instant(mtimeNs)}`,
    );
  }

  close(): void {
    if (this.#fd === undefined) return;
    abandoned.unregister(this);
    fs.closeSync(this.#fd);
    this.#fd = undefined;
    this.#mapped?.dispose();
    this.#mapped = undefined;
  }
}

function demandRegular(path: string, stat: fs.Stats | fs.BigIntStats, fail: (what: string) => Error): void {
  if (!stat.isFile()) throw fail(`${path} is not a file: expected a regular file, got ${kindOf(stat)}`);
  if (Number(stat.size) === 0) throw fail(`${path} is empty`);
}

function mapping(fd: number, path: string, size: number): Tensor {
  const opened = `/proc/self/fd/${fd}`;
  const name = fs.existsSync(opened) ? opened : path; // without /proc: opened again by name
  return ownScope(() => keep(fromFile!(name, false, size, { dtype: 'uint8' })));
}

function newBuffer(length: number): Uint8Array {
  try {
    return Buffer.allocUnsafeSlow(length);
  } catch {
    // Longer than the maximum buffer length, or out of memory.
    throw codedError(Error, 'ERR_TORCH_OUT_OF_MEMORY', `cannot allocate ${length} bytes to read a file`);
  }
}
