/**
 * Arguments that cross to an op in memory that both sides see, for the paths that need no conversion. The memory is a ring:
 * what was written last stays for a while. Reading a list can run code of the program (an element that is an accessor, a
 * Proxy), and what that calls must not write over what the call outside has in the ring already.
 */
import { native } from './native';
import { whenTurnEnds } from './turn';

const ring = native.ints;
/** Longer lists go as arrays. Six of these fit in the ring, as many as a fast path has parameters. */
const MAX_PACKED = 16;
/** Longer ones are left to lib/reading.ts, which refuses what is too long. */
const MAX_COPIED = 2 ** 16;
let nextInt = 0;
/** Whether a list is being read: the ring is then the outer call's. */
let reading = false;
/** Whether the end of the turn is waited for: a `finally` that a vm timeout skipped leaves `reading` as it was. */
let waiting = false;

/** Nobody can be reading once the turn is over. What is packed meanwhile goes as arrays. */
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

/** An array of our own with the elements, each read once, or undefined where one does not fit. */
function copyOf<T>(list: readonly unknown[], least: number, fits: (value: unknown) => value is T): T[] | undefined {
  const length = list.length >>> 0; // of a Proxy it can be anything
  if (length < least || length > MAX_COPIED) return undefined;
  const copy: T[] = [];
  for (let i = 0; i < length; i++) {
    const value = list[i];
    if (!fits(value)) return undefined;
    copy.push(value);
  }
  return copy;
}

const isInteger = Number.isInteger as (value: unknown) => value is number;
const isNumber = (value: unknown): value is number => typeof value === 'number';

/**
 * What stands for an array of `least` integers or more on its way into an op: see read_packed() of native/convert. Undefined
 * for everything else. Elements are looked at and taken in one pass, so that what an op gets is what was looked at.
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
    return first * 32 + length;
  } finally {
    reading = false;
  }
}

/** The same for an `int[size]`, where a number stands for `size` times itself. */
export function intsOf(value: unknown, size: number, least = 0): number | number[] | undefined {
  if (typeof value !== 'number') return ints(value, least);
  if (!Number.isInteger(value)) return undefined;
  if (reading && isBeingRead()) return new Array<number>(size).fill(value);
  const first = nextInt + size > ring.length ? 0 : nextInt;
  for (let i = 0; i < size; i++) ring[first + i] = value;
  nextInt = first + size;
  return first * 32 + size;
}

/** A copy of an array of numbers; undefined for everything else. */
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

/** A copy of an array of integers, for what is no op; undefined for everything else. */
export function integers(list: unknown): number[] | undefined {
  return Array.isArray(list) ? copyOf(list, 0, isInteger) : undefined;
}

/** What stands for an array of ours, of integers: nothing of the program's runs until the op has it. */
export function packed(list: readonly number[]): number | readonly number[] {
  const { length } = list;
  if (length > MAX_PACKED || (reading && isBeingRead())) return list;
  const first = nextInt + length > ring.length ? 0 : nextInt;
  for (let i = 0; i < length; i++) ring[first + i] = list[i]!;
  nextInt = first + length;
  return first * 32 + length;
}

/**
 * A number that stands for a tensor, on its way into an op through shared memory: see number_tensor() of native/convert.
 * The code, -1.5 and down, is neither a handle nor what a forged one would be. For the fast paths: nothing else may run
 * before the op takes it.
 */
export function numberTensor(value: number): number | [number] {
  if (reading && isBeingRead()) return [value];
  const at = nextInt < ring.length ? nextInt : 0;
  ring[at] = value;
  nextInt = at + 1;
  return -(at + 1.5);
}
