/** Arguments that cross to an op in memory that both sides see, for the paths that need no conversion. */
import { native } from './native';

const { ints } = native;
/** Longer lists go as arrays. Six of these fit in `ints`, as many as a fast path has parameters. */
const MOST_PACKED = 16;
let nextInt = 0;

export function isInts(value: unknown): value is number[] {
  if (!Array.isArray(value)) return false;
  for (let i = 0; i < value.length; i++) if (!Number.isInteger(value[i])) return false;
  return true;
}

export function isNumbers(value: unknown): value is number[] {
  if (!Array.isArray(value)) return false;
  for (let i = 0; i < value.length; i++) if (typeof value[i] !== 'number') return false;
  return true;
}

/** A short list of integers, on its way into an op through shared memory: see read_packed() of native/convert. */
export function packed(list: readonly number[]): number | readonly number[] {
  const { length } = list;
  if (length > MOST_PACKED) return list;
  const first = nextInt + length > ints.length ? 0 : nextInt;
  for (let i = 0; i < length; i++) ints[first + i] = list[i]!;
  nextInt = first + length;
  return first * 32 + length;
}

/** The same for an `int[size]`, where a number stands for `size` times itself. */
export function packedOf(value: number | readonly number[], size: number): number | readonly number[] {
  if (typeof value !== 'number') return packed(value);
  const first = nextInt + size > ints.length ? 0 : nextInt;
  for (let i = 0; i < size; i++) ints[first + i] = value;
  nextInt = first + size;
  return first * 32 + size;
}

/**
 * A number that stands for a tensor, on its way into an op through shared memory: see number_tensor() of native/convert.
 * The code, -1.5 and down, is neither a handle nor what a forged one would be. For the fast paths: nothing else may run
 * before the op takes it.
 */
export function numberTensor(value: number): number {
  const at = nextInt < ints.length ? nextInt : 0;
  ints[at] = value;
  nextInt = at + 1;
  return -(at + 1.5);
}
