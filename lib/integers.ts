/**
 * JavaScript's numbers as the elements of an integer dtype, by PyTorch's rule (c10::overflows): a fraction is cut off,
 * and what the dtype does not hold is refused. An unsigned dtype takes negative integers down to its largest value, as
 * two's complement: -1 is 255 as a uint8, and -1.5 is refused.
 */
import { endianness } from 'node:os';
import type { DType } from '../types/base';

type NarrowArray = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array;

interface Range {
  readonly least: bigint;
  readonly most: bigint;
  readonly signed: boolean;
}

const range = (bits: number, signed: boolean): Range => ({
  least: signed ? -(1n << BigInt(bits - 1)) : 0n,
  most: (1n << BigInt(signed ? bits - 1 : bits)) - 1n,
  signed,
});

const ranges: Partial<Record<DType, Range>> = {
  int8: range(8, true),
  uint8: range(8, false),
  int16: range(16, true),
  uint16: range(16, false),
  int32: range(32, true),
  uint32: range(32, false),
  int64: range(64, true),
  uint64: range(64, false),
};

export const isInteger = (dtype: DType): boolean => ranges[dtype] !== undefined;

/** "a number from 0 to 255"; undefined for a dtype that is not one of integers. */
export function rangeText(dtype: DType): string | undefined {
  const found = ranges[dtype];
  if (found === undefined || dtype === 'int64') return found && 'an integer of 64 bits';
  return `a number from ${found.least} to ${found.most}`;
}

/**
 * Whether a number can be an element: an integer as one, any other between the limits themselves. Those of a Float64Array
 * are floats to PyTorch, whose negative ones no unsigned dtype takes.
 */
function holds({ least, most, signed }: Range, value: number, row: Row): boolean {
  const float = !Number.isInteger(value) || FLOATS.test(tagOf(row));
  return value <= most && value >= (float || signed ? least : -most);
}

/** Arrays of another realm (vm contexts, Jest) are no instances. */
const tagOf = (array: object) => Object.prototype.toString.call(array);
const FLOATS = /^\[object Float(?:32|64)Array\]$/;

type Row = ArrayLike<unknown>;
/** As in lib/nested.ts: writes a row, and answers where it came to what does not fit. */
type Writer = (row: Row, next: number) => number;

export interface IntegerWriter {
  readonly array: NarrowArray | BigUint64Array;
  readonly write: Writer;
}

/**
 * What writes numbers as elements of `dtype`. Undefined for a dtype that is not one of integers, and for int64: a BigInt
 * for each element would cost twenty times what a Float64Array does.
 */
export function integerWriter(dtype: DType, count: number): IntegerWriter | undefined {
  const limits = ranges[dtype];
  if (limits === undefined || dtype === 'int64') return undefined;
  if (dtype === 'uint64') {
    const wide = new BigUint64Array(count);
    return { array: wide, write: numbersIntoWide(wide, limits) };
  }
  const narrow = new narrowArrays[dtype]!(count);
  return { array: narrow, write: numbersIntoNarrow(narrow, limits) };
}

const narrowArrays: Partial<Record<DType, new (count: number) => NarrowArray>> = {
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
};

/** What is an element as it is comes back unchanged; only the rest is looked at closely. */
function numbersIntoNarrow(array: NarrowArray, limits: Range): Writer {
  return (row, next) => {
    const { length } = row;
    for (let i = 0; i < length; i++) {
      const value = row[i];
      if (typeof value !== 'number') return i;
      array[next + i] = value;
      if (array[next + i] !== value && !holds(limits, value, row)) return i;
    }
    return length;
  };
}

function numbersIntoWide(array: BigUint64Array, limits: Range): Writer {
  return (row, next) => {
    const { length } = row;
    for (let i = 0; i < length; i++) {
      const value = row[i];
      if (typeof value !== 'number' || !holds(limits, value, row)) return i;
      array[next + i] = BigInt(Math.trunc(value));
    }
    return length;
  };
}

/** Where an array has the first element that a dtype of integers does not hold; -1 for none, and for another dtype. */
export function firstOutside(array: ArrayBufferView, wanted: DType): number {
  const limits = ranges[wanted];
  if (limits === undefined) return -1;
  const least = limits.signed ? limits.least : -limits.most;
  const tag = tagOf(array);
  if (tag === '[object BigInt64Array]') return int64Outside(array as BigInt64Array, least, limits.most);
  if (tag === '[object BigUint64Array]') return bigintOutside(array as BigUint64Array, least, limits.most);
  if (FLOATS.test(tag)) {
    const most = wanted.endsWith('64') ? limits.most : Number(limits.most);
    return floatOutside(array as Float64Array, Number(limits.least), most);
  }
  return numberOutside(array as NarrowArray, Number(least), Number(limits.most));
}

function numberOutside(array: NarrowArray, least: number, most: number): number {
  const { length } = array;
  for (let i = 0; i < length; i++) {
    const value = array[i]!;
    if (!(value >= least && value <= most)) return i;
  }
  return -1;
}

/** The largest integer of 64 bits is not a double: the next one is too large, and the one before it is the largest. */
function floatOutside(array: Float64Array | Float32Array, least: number, most: number | bigint): number {
  const { length } = array;
  const largest = typeof most === 'number' ? most : Number(most) * (1 - 2 ** -53);
  for (let i = 0; i < length; i++) {
    const value = array[i]!;
    if (!(value >= least && value <= largest)) return i;
  }
  return -1;
}

/** Which half of an int64 in memory is the low one. */
const LOW = endianness() === 'LE' ? 0 : 1;

/** In halves of 32 bits where it can be: each bigint that is read is an object. */
function int64Outside(array: BigInt64Array, least: bigint, most: bigint): number {
  if (least < -(2n ** 31n) || most >= 2n ** 31n) return bigintOutside(array, least, most);
  const [low, high] = [Number(least), Number(most)];
  const { length } = array;
  const halves = new Int32Array(array.buffer, array.byteOffset, 2 * length);
  for (let i = 0; i < length; i++) {
    const value = halves[2 * i + LOW]!;
    if (halves[2 * i + 1 - LOW] !== value >> 31 || value < low || value > high) return i;
  }
  return -1;
}

function bigintOutside(array: BigInt64Array | BigUint64Array, least: bigint, most: bigint): number {
  const { length } = array;
  for (let i = 0; i < length; i++) {
    const value = array[i]!;
    if (value < least || value > most) return i;
  }
  return -1;
}
