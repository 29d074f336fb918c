/** Keeps the bytes that were examined, so that libtorch reads the same bytes. */
import type { Bytes } from '../files/zip';

interface Range {
  readonly from: number;
  readonly bytes: Uint8Array;
}

/** Keeps all bytes that are read, except those passed to `pass`: the elements of tensors. */
export class HeldBytes implements Bytes {
  readonly #bytes: Bytes;
  readonly #ranges: Range[] = [];

  constructor(bytes: Bytes) {
    this.#bytes = bytes;
  }

  get size(): number {
    return this.#bytes.size;
  }

  read(from: number, length: number): Uint8Array {
    const bytes = this.#bytes.read(from, length);
    this.#ranges.push({ from, bytes });
    return bytes;
  }

  pass(from: number, length: number): Uint8Array {
    return this.#bytes.read(from, length);
  }

  /** The ranges as [from, length, …], sorted and disjoint, and their concatenated bytes. */
  merged(): { ranges: number[]; held: Uint8Array } {
    const ranges: number[] = [];
    const parts: Uint8Array[] = [];
    let end = -1;
    for (const { from, bytes } of this.#ranges.sort((a, b) => a.from - b.from)) {
      const fresh = bytes.subarray(Math.max(0, end - from));
      if (fresh.length === 0) continue;
      if (from > end) ranges.push(from, 0);
      ranges[ranges.length - 1]! += fresh.length;
      end = from + bytes.length;
      parts.push(fresh);
    }
    return { ranges, held: Buffer.concat(parts) };
  }
}
