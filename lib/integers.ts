/**
 * JavaScript's numbers as the elements of an integer dtype, by PyTorch's rule (c10::overflows): a fraction is cut off,
 * and what the dtype does not hold is refused. An unsigned dtype takes negative integers down to its largest value, as
 * two's complement: -1 is 255 as a uint8, and -0.5 is refused. Native code looks at the elements and converts them
 * (native/convert/integers.h); this is for what is refused.
 */
import type { DType } from '../types/base';

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

export const isUnsigned = (dtype: DType): boolean => ranges[dtype]?.signed === false;

/** "a number from 0 to 255"; undefined for a dtype that is not one of integers. */
export function rangeText(dtype: DType): string | undefined {
  const found = ranges[dtype];
  if (found === undefined || dtype === 'int64') return found && 'an integer of 64 bits';
  return `a number from ${found.least} to ${found.most}`;
}

/** Arrays of another realm (vm contexts, Jest) are no instances. */
const tagOf = (array: object) => Object.prototype.toString.call(array);
const FLOATS = /^\[object Float(?:32|64)Array\]$/;

/** Whether what stands in an array are floats, whatever their values: to PyTorch no unsigned dtype takes a negative one. */
export const holdsFloats = (array: object): boolean => FLOATS.test(tagOf(array));

/**
 * Where an array has the first element that a dtype of integers does not hold; -1 for none. `floats`: whether the elements
 * of a Float64Array are floats, or what stood in arrays of JavaScript, whose integers are integers. Native code has looked at
 * them already (native/convert/integers.h, by the same rule); this is for the path in the error.
 */
export function firstOutside(array: ArrayBufferView, wanted: DType, floats: boolean): number {
  const { least, most, signed } = ranges[wanted]!;
  const lowest = signed ? least : -most;
  const fits = (value: number | bigint) => {
    const isInteger = typeof value === 'bigint' || (Number.isInteger(value) && !floats);
    return value <= most && value >= (isInteger ? lowest : least);
  };
  return Array.prototype.findIndex.call(array, (value) => !fits(value));
}
