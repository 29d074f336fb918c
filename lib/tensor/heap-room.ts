/** Whether V8's heap has room for a tensor as nested arrays. V8 ends the process where it has not. */
import { getHeapStatistics } from 'node:v8';
import { codedError, type TorchError } from '../errors/errors';

/** V8's largest growing array has 2^27 elements, and it grows by half. */
const MAX_LENGTH = 2 ** 26;

/** Below this many elements and arrays, the rest of a program's objects matters more than these. */
const FEW = 2 ** 20;

const ELEMENT_BYTES = 8;
/** An object with two numbers, each of which may be a heap number. */
const COMPLEX_BYTES = 80;
const ARRAY_BYTES = 64;

/**
 * Throws ERR_TORCH_OUT_OF_MEMORY if nested arrays of this shape do not fit. They take 8 bytes an element, 80 if it is a complex
 * number, and 64 bytes an array; the longest array is copied while it grows. Integers that need a bigint take more.
 */
export function requireHeapRoom(fn: string, shape: readonly number[], isComplex: boolean): void {
  let arrays = 0;
  let elements = 1;
  let longest = 0;
  for (const size of shape) {
    arrays += elements;
    elements *= size;
    longest = Math.max(longest, size);
    if (size === 0) break; // no arrays behind it
  }
  if (elements + arrays < FEW) return;
  if (longest > MAX_LENGTH) {
    throw refused(fn, shape, `an array has at most ${MAX_LENGTH} elements; use toTypedArray()`);
  }
  const each = isComplex ? COMPLEX_BYTES : ELEMENT_BYTES;
  const needed = each * elements + ELEMENT_BYTES * (arrays + 2 * longest) + ARRAY_BYTES * arrays;
  const { heap_size_limit: limit, used_heap_size: used } = getHeapStatistics();
  if (needed > limit - used) {
    const text = `they take about ${needed} bytes, and ${Math.max(0, limit - used)} are free in V8's heap`;
    throw refused(fn, shape, `${text}; use toTypedArray() or --max-old-space-size`);
  }
}

function refused(fn: string, shape: readonly number[], why: string): TorchError {
  return codedError(
    Error,
    'ERR_TORCH_OUT_OF_MEMORY',
    `${fn}: nested arrays of the shape [${shape.join(', ')}]: ${why}`,
  );
}
