/**
 * JavaScript numbers as elements of an integer dtype, by PyTorch's rule (c10::overflows): fractions are truncated, and values
 * out of range are refused. An unsigned dtype accepts negative integers down to minus its largest value, as two's
 * complement: -1 is 255 as a uint8, and -0.5 is refused. Native code checks and converts the elements
 * (native/convert/integers.h); this module finds the refused one for the error.
 */
import type { DType } from '../../types/base';

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

/** "a number from 0 to 255"; undefined for a dtype that is not an integer dtype. */
export function rangeText(dtype: DType): string | undefined {
  const found = ranges[dtype];
  if (found === undefined || dtype === 'int64') return found && 'an integer of 64 bits';
  return `a number from ${found.least} to ${found.most}`;
}

/** By tag, because arrays of another realm (vm contexts, Jest) are not instances of the class. */
const tagOf = (array: object) => Object.prototype.toString.call(array);
const FLOATS = /^\[object Float(?:32|64)Array\]$/;

/** Whether elements of an array count as floats whatever their values: PyTorch refuses negative floats for unsigned dtypes. */
export const holdsFloats = (array: object): boolean => FLOATS.test(tagOf(array));

/**
 * The index of the first element that an integer dtype cannot hold; -1 for none. `floats`: whether the elements of a
 * Float64Array count as floats, or come from JavaScript arrays, whose integers count as integers. Native code has checked
 * them already (native/convert/integers.h, by the same rule); this finds the path for the error.
 */
export function firstOutside(array: ArrayBufferView, wanted: DType, floats: boolean): number {
  const { least, most, signed } = ranges[wanted]!;
  const lowest = signed ? least : -most;
  const fits = (value: number | bigint) => {
    const isInteger = typeof value === 'bigint' || (Number.isInteger(value) && !floats);
    return value <= most && value >= (isInteger ? lowest : least);
  };
  // From some release after 2.6 on, libtorch cuts the fraction off first: 127.5 is 127 as an int8. What no release takes is
  // named first.
  const cut = (value: number | bigint) => (typeof value === 'number' && value > 0 ? Math.trunc(value) : value);
  const find = (isOutside: (value: number | bigint) => boolean) => Array.prototype.findIndex.call(array, isOutside);
  const always = find((value) => !fits(cut(value)));
  return always >= 0 ? always : find((value) => !fits(value));
}
