/**
 * Passes arguments to ops in shared memory, for paths that need no conversion. The memory is a ring buffer: recent entries
 * stay valid for a while. Reading a list can run user code (accessors, Proxies), and nested calls must not overwrite the
 * entries of the outer call.
 */
import { native } from '../addon/native';
import { whenTurnEnds } from '../errors/restoring';
import { Flag, Packing, RecordingMode } from '../generated/codes';
import { isInteger, isNumber } from './plain';

const { flags, ints: ring } = native;
/** Longer lists are passed as arrays. Six of these fit in the ring, as many as a fast path has parameters. */
const MAX_PACKED = 16;
/** The same for lists of tensors, of which an op has at most three: a batch is often made of so many samples. */
const MAX_PACKED_TENSORS = 64;
/** Longer lists are left to lib/tensor/reading.ts, which refuses too long ones. */
const MAX_COPIED = 2 ** 16;
let nextInt = 0;
/** Whether a list is being read: then the ring belongs to the outer call. */
let reading = false;
/** Whether a reset at the end of the turn is scheduled: a vm timeout skips `finally` and leaves `reading` set. */
let waiting = false;

/** Nothing is being read after the end of the turn. Until then lists are passed as arrays. */
function isBeingRead(): boolean {
  if (reading && !waiting) {
    waiting = true;
    whenTurnEnds(notReading);
  }
  return reading;
}

function notReading(): void {
  reading = false;
  waiting = false;
}

/** A new array with the elements, each read once; undefined if one does not fit. */
function copyOf<T>(list: readonly unknown[], least: number, fits: (value: unknown) => value is T): T[] | undefined {
  const length = list.length >>> 0; // a Proxy may return any value
  if (length < least || length > MAX_COPIED) return undefined;
  const copy: T[] = [];
  for (let i = 0; i < length; i++) {
    const value = list[i];
    if (!fits(value)) return undefined;
    copy.push(value);
  }
  return copy;
}

/**
 * The encoding of an array of at least `least` integers for an op: see read_packed() of native/convert. Undefined for other
 * values. Each element is checked and copied in one read, so that the op gets the checked value.
 */
export function ints(list: unknown, least = 0): number | number[] | undefined {
  if (!Array.isArray(list)) return undefined;
  if (reading && isBeingRead()) return copyOf(list, least, isInteger);
  reading = true;
  try {
    const length = list.length >>> 0;
    if (length < least) return undefined;
    if (length > MAX_PACKED) return copyOf(list, least, isInteger);
    const first = nextInt + length > ring.length ? 0 : nextInt;
    for (let i = 0; i < length; i++) {
      const value = list[i] as unknown;
      if (!isInteger(value)) return undefined;
      ring[first + i] = value;
    }
    nextInt = first + length;
    return first * Packing.Lengths + length;
  } finally {
    reading = false;
  }
}

/** The same for an `int[size]`, where a single number is repeated `size` times. */
export function intsOf(value: unknown, size: number, least = 0): number | number[] | undefined {
  if (typeof value !== 'number') return ints(value, least);
  if (!isInteger(value)) return undefined;
  if (reading && isBeingRead()) return new Array<number>(size).fill(value);
  const first = nextInt + size > ring.length ? 0 : nextInt;
  for (let i = 0; i < size; i++) ring[first + i] = value;
  nextInt = first + size;
  return first * Packing.Lengths + size;
}

/** The same for one to four integers that are the elements of a list: `view(2, 3)`. */
export function gathered(count: number, a: number, b = 0, c = 0, d = 0): number | number[] {
  if (reading && isBeingRead()) return [a, b, c, d].slice(0, count);
  const first = nextInt + count > ring.length ? 0 : nextInt;
  ring[first] = a;
  if (count > 1) ring[first + 1] = b;
  if (count > 2) ring[first + 2] = c;
  if (count > 3) ring[first + 3] = d;
  nextInt = first + count;
  return first * Packing.Lengths + count;
}

/** A copy of an array of numbers; undefined for other values. */
export function numbers(list: unknown, least = 0): number[] | undefined {
  if (!Array.isArray(list)) return undefined;
  if (reading && isBeingRead()) return copyOf(list, least, isNumber);
  reading = true;
  try {
    return copyOf(list, least, isNumber);
  } finally {
    reading = false;
  }
}

/** A copy of an array of integers, for hand-written functions; undefined for other values. */
export function integers(list: unknown): number[] | undefined {
  return Array.isArray(list) ? copyOf(list, 0, isInteger) : undefined;
}

/** The encoding of an internal array of integers: no user code runs before the op reads it. */
export function packed(list: readonly number[], most = MAX_PACKED): number | readonly number[] {
  const { length } = list;
  if (length > most || (reading && isBeingRead())) return list;
  const first = nextInt + length > ring.length ? 0 : nextInt;
  for (let i = 0; i < length; i++) ring[first + i] = list[i]!;
  nextInt = first + length;
  return first * Packing.Lengths + length;
}

/**
 * The same for handles of tensors, 0 for null. Recorded ops and pending tensors, whose codes are negative, need an array, and
 * native code refuses what is forged.
 */
export function packedHandles(list: readonly number[]): number | readonly number[] {
  if (flags[Flag.Recording] !== RecordingMode.Off) return list;
  for (const handle of list) if (typeof handle !== 'number' || !(handle >= 0)) return list;
  return packed(list, MAX_PACKED_TENSORS);
}

/**
 * The encoding of a number in place of a tensor, in shared memory: see number_tensor() of native/convert. The codes, -1.5 and
 * below, are not handles and cannot be confused with forged ones. For the fast paths: nothing else may run before the op
 * reads it.
 */
export function numberTensor(value: number): number | [number] {
  if (reading && isBeingRead()) return [value];
  const at = nextInt < ring.length ? nextInt : 0;
  ring[at] = value;
  nextInt = at + 1;
  return -(at + 1.5);
}
