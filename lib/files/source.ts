/** The sources of a loader: a file, or bytes in memory. */
import { types } from 'node:util';
import { native } from '../addon/native';
import { fromTypedArray, refuseDetached } from '../elements/create';
import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { type Tensor, wrap } from '../tensor/tensor';
import { bytesOfTensor, namingLoader } from './bytes';
import { RegularFile } from './file';
import { demandFormat, type FormatName } from './formats';
import { pathIn } from './paths';
import type { Bytes, Crc32 } from './zip';

export interface TensorSource extends Bytes {
  /**
   * These bytes as a uint8 tensor: a view if sharing is allowed and the offset is aligned to `itemSize`, else a copy. They
   * are added to `sum`.
   */
  tensor(from: number, length: number, itemSize: number, sum?: Crc32): Tensor;
}

export interface MapOptions {
  /**
   * Share the memory instead of copying it (default false). A file is mapped, so that each page is read on first use; tensors
   * from bytes share their memory. Writing to the file in place, or to the bytes, then changes the tensors. Truncating the
   * file **ends the process** when it next reads such a tensor (SIGBUS, which cannot become an error). Use it only for files
   * that are never modified, or are replaced by `rename`, as the savers of this library do.
   */
  mmap?: boolean | undefined;
}

/** A copy of the bytes in memory that libtorch accounts for. */
export function tensorOfBytes(bytes: Uint8Array): Tensor {
  const tensor = wrap(native.newBytes(bytes.length))!;
  native.fillBytes(tensor._handle, 0, bytes);
  return tensor;
}

/** Bytes in memory. `share`: no one else writes to them, or the program asked for sharing. */
export const inMemory = (data: Uint8Array, share: boolean): TensorSource => ({
  size: data.length,
  read: (from, length) => data.subarray(from, from + length),
  tensor(from, length, itemSize, sum) {
    const part = data.subarray(from, from + length);
    sum?.add(part);
    return share && part.byteOffset % itemSize === 0 ? fromTypedArray(part) : tensorOfBytes(part);
  },
});

/** Bytes in a contiguous uint8 tensor, whose memory the results share. */
export const inTensor = (data: Tensor): TensorSource => ({
  size: data.numel,
  read: (from, length) => bytesOfTensor(data.narrow(0, from, length) as Tensor),
  tensor: (from, length) => data.narrow(0, from, length) as Tensor,
});

/** The format that a loader reads, and its error. */
export interface Wanted {
  /** The function, for messages about arguments. */
  readonly fn: string;
  readonly format: FormatName;
  readonly fail: (what: string) => Error;
}

export function mayShare(fn: string, mmap: unknown): boolean {
  if (mmap === undefined || typeof mmap === 'boolean') return mmap === true;
  throw argumentError(fn, 'mmap', 'a boolean', mmap);
}

/**
 * Calls `use` with the bytes of a path, a file: URL or a Uint8Array, after checking that they have no other known format.
 * The tensors in its result belong to the caller's scope.
 */
export function withSource<T>(wanted: Wanted, source: unknown, mmap: unknown, use: (source: TensorSource) => T): T {
  const { fn, fail } = wanted;
  const share = mayShare(fn, mmap);
  if (types.isUint8Array(source)) {
    refuseDetached(fn, 'source', source);
    return ownScope(() => {
      const bytes = inMemory(source, share);
      demandFormat(bytes, wanted);
      return namingLoader(fn, () => use(bytes));
    });
  }
  const path = pathIn(fn, 'source', source);
  if (path === undefined) throw argumentError(fn, 'source', 'a path or a Uint8Array', source);
  const file = new RegularFile(path, fail, { mmap: share });
  try {
    return ownScope(() => {
      demandFormat(file, wanted);
      const result = namingLoader(fn, () => use(file));
      if (file.isOpen) file.demandUnchanged();
      return result;
    });
  } finally {
    file.close();
  }
}
