/** Sizes and strides, which native code gives as one number where they fit: an array made there takes five times as long. */
import { native } from './native';

/** The number of sizes is above these bits, each size in an equal part of them, the first in the highest. */
const ALL = 2 ** 48;
const HALF = 2 ** 24;

/** Up to four sizes, from the number of packed_sizes() in native/exports/tensors.cpp. */
function unpacked(packed: number): number[] {
  const rank = Math.floor(packed / ALL);
  const sizes = packed - rank * ALL;
  const high = Math.floor(sizes / HALF);
  const low = sizes - high * HALF;
  switch (rank) {
    case 0:
      return [];
    case 1:
      return [sizes];
    case 2:
      return [high, low];
    case 3:
      return [high >> 8, ((high & 0xff) << 8) | (low >> 16), low & 0xffff];
    default:
      return [high >> 12, high & 0xfff, low >> 12, low & 0xfff];
  }
}

const listOf = (sizes: number | number[]) => (typeof sizes === 'number' ? unpacked(sizes) : sizes);

/** A new array. Throws for a nested tensor, which has no single shape, and for a handle that is not live. */
export const shapeOf = (handle: number): number[] => listOf(native.shape(handle));

/** A new array. Throws for a tensor that is not strided, and for a handle that is not live. */
export const stridesOf = (handle: number): number[] => listOf(native.strides(handle));
