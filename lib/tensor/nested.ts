/** Flattens nested arrays to typed arrays for torch.tensor, in one pass. Errors have the path to the first wrong element. */
import type { DType } from '../../types/base';
import { dtypeCodes } from '../addon/enums';
import { argumentError, refusal } from '../errors/errors';
import { firstOutside, holdsFloats, isInteger, isUnsigned, rangeText } from '../errors/integers';
import { isComplex } from '../errors/values';
import { isTensor } from './tensor';

export type TypedArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

const tagOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)!.get!;

/** "Float32Array": by tag, so that arrays of another realm count. Buffer is a Uint8Array. '' for other values. */
export const typedArrayName = (value: unknown) => (tagOf.call(value) ?? '') as string;

/** The dtype of each typed array, if this libtorch has it: uint16, uint32 and uint64 exist since 2.3. */
export const typedArrayDtypes = new Map<string, DType>(
  (
    [
      ['Int8Array', 'int8'],
      ['Uint8Array', 'uint8'],
      ['Uint8ClampedArray', 'uint8'],
      ['Int16Array', 'int16'],
      ['Uint16Array', 'uint16'],
      ['Int32Array', 'int32'],
      ['Uint32Array', 'uint32'],
      ['Float32Array', 'float32'],
      ['Float64Array', 'float64'],
      ['BigInt64Array', 'int64'],
      ['BigUint64Array', 'uint64'],
    ] as const
  ).filter(([, dtype]) => dtypeCodes.has(dtype)),
);

const typedArrays: Readonly<Record<string, new (length: number) => TypedArray>> = {
  ...{ Int8Array, Uint8Array, Uint8ClampedArray: Uint8Array, Int16Array, Uint16Array, Int32Array, Uint32Array },
  ...{ Float32Array, Float64Array, BigInt64Array, BigUint64Array },
};

export const isTypedArray = (value: unknown): value is TypedArray =>
  typeof value === 'object' && typedArrayName(value) !== '';

/** Hints for untyped memory. */
export const elsewhere = (value: unknown): string =>
  value instanceof DataView || /^\[object (?:Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(value))
    ? ' (torch.frombuffer(buffer, { dtype }) reads a DataView or an ArrayBuffer)'
    : '';

/** libtorch's limit; also ends the search in cyclic arrays. */
const MAX_DIMENSIONS = 64;

/** The sizes of nested arrays, from their first elements. */
export function shapeOf(fn: string, data: unknown): number[] {
  const shape: number[] = [];
  let inner = data;
  while (Array.isArray(inner) || isTypedArray(inner)) {
    shape.push(inner.length);
    if (shape.length > MAX_DIMENSIONS) {
      throw refusal(fn, 'data', `at most ${MAX_DIMENSIONS} nested arrays`, 'deeper nesting or a cycle');
    }
    if (isTypedArray(inner)) break;
    inner = inner[0];
    if (inner === undefined) break;
  }
  return shape;
}

function firstRow(data: unknown): unknown {
  let value = data;
  while (Array.isArray(value)) value = value[0];
  return value;
}

type Leaf = 'number' | 'bigint' | 'boolean' | 'complex';
type Row = ArrayLike<unknown>;

/**
 * Writes the elements of an innermost array `row` at `next`. Returns the index of the first one that does not fit, or the
 * length of the row. One function per kind, so that its loop is compiled for one type.
 */
type Writer = (row: Row, next: number) => number;

function numbersInto(array: Exclude<TypedArray, BigInt64Array | BigUint64Array>): Writer {
  return (row, next) => {
    const { length } = row;
    for (let i = 0; i < length; i++) {
      const value = row[i];
      if (typeof value !== 'number') return i;
      array[next + i] = value;
    }
    return length;
  };
}

/** The same for an unsigned dtype. Floats are refused here, because later integers and floats differ only by their values. */
function unsignedInto(array: Float64Array): Writer {
  const write = numbersInto(array);
  return (row, next) => {
    const negative =
      !Array.isArray(row) && holdsFloats(row) ? (row as Float64Array).findIndex((value) => value < 0) : -1;
    return negative < 0 ? write(row, next) : negative;
  };
}

function bigintsInto(array: BigInt64Array | BigUint64Array): Writer {
  return (row, next) => {
    const { length } = row;
    for (let i = 0; i < length; i++) {
      const value = row[i];
      if (typeof value !== 'bigint') return i;
      array[next + i] = value;
      if (array[next + i] !== value) return i; // more than 64 bits
    }
    return length;
  };
}

function booleansInto(array: Uint8Array): Writer {
  return (row, next) => {
    const { length } = row;
    for (let i = 0; i < length; i++) {
      const value = row[i];
      if (typeof value !== 'boolean') return i;
      array[next + i] = value ? 1 : 0;
    }
    return length;
  };
}

/** Real and imaginary parts, alternating. */
function complexInto(array: Float32Array | Float64Array): Writer {
  return (row, next) => {
    const { length } = row;
    for (let i = 0; i < length; i++) {
      const value = row[i];
      if (!isComplex(value)) return i;
      array[2 * (next + i)] = value.re;
      array[2 * (next + i) + 1] = value.im;
    }
    return length;
  };
}

const pathText = (path: readonly number[]) => path.map((i) => `[${i}]`).join('');

/** The error for a leaf of the wrong type, or a number that `dtype` cannot hold. */
function misfit(fn: string, kind: Leaf, dtype: DType, value: unknown, path: readonly number[]): Error {
  const where = `data${pathText(path)}`;
  const range = rangeText(dtype);
  if (typeof value === kind && range !== undefined) {
    const asked = dtype === 'int64' ? '' : `, for the dtype '${dtype}'`;
    return argumentError(fn, 'data', `${range} at ${where}${asked}`, value);
  }
  const noun = kind === 'complex' ? 'complex number' : kind;
  return argumentError(fn, 'data', `a ${noun} at ${where}, because the first element is a ${noun}`, value);
}

interface Writing {
  readonly fn: string;
  readonly kind: Leaf;
  /** the dtype of the elements */
  readonly dtype: DType;
  readonly write: Writer;
}

function writeAll(data: unknown, shape: readonly number[], { fn, kind, dtype, write }: Writing): void {
  const last = shape.length - 1;
  const path: number[] = [];
  let next = 0;
  const visit = (value: unknown, depth: number): void => {
    if (!Array.isArray(value) && !isTypedArray(value)) {
      throw argumentError(fn, 'data', `an array of ${shape[depth]} at data${pathText(path)}`, value);
    }
    const { length } = value;
    if (length !== shape[depth]) {
      throw refusal(fn, 'data', `${shape[depth]} elements at data${pathText(path)}`, `${length} elements`);
    }
    if (depth === last) {
      const written = write(value, next);
      if (written !== length) throw misfit(fn, kind, dtype, value[written], [...path, written]);
      next += length;
      return;
    }
    for (let i = 0; i < length; i++) {
      path.push(i);
      visit(value[i], depth + 1);
      path.pop();
    }
  };
  if (last >= 0) visit(data, 0);
  else if (write([data], 0) === 0) throw misfit(fn, kind, dtype, data, path);
}

/** A flat typed array, its dtype, and the kind of its elements. */
interface Flat {
  readonly array: ArrayBufferView;
  readonly dtype: DType;
  readonly kind: Leaf;
  /** Whether the rows are typed arrays, which have a dtype. */
  readonly isTyped: boolean;
}

/** Whether all innermost arrays are typed arrays of this name. Rows of several kinds are numbers, of the default dtype. */
const areRows = (data: unknown, name: string): boolean =>
  Array.isArray(data) ? data.every((inner) => areRows(inner, name)) : typedArrayName(data) === name;

/** Writes rows that are typed arrays of one class to one of that class. */
function joined(fn: string, data: unknown, shape: readonly number[], row: TypedArray, count: number): Flat {
  const name = typedArrayName(row);
  const dtype = typedArrayDtypes.get(name);
  if (dtype === undefined) throw argumentError(fn, 'data', `one of ${[...typedArrayDtypes.keys()].join(', ')}`, row);
  const array = new typedArrays[name]!(count);
  const isBig = array instanceof BigInt64Array || array instanceof BigUint64Array;
  const kind = isBig ? 'bigint' : 'number';
  writeAll(data, shape, { fn, kind, dtype, write: isBig ? bigintsInto(array) : numbersInto(array) });
  return { array, dtype, kind, isTyped: true };
}

/**
 * Flattens the leaves of nested arrays, directly to the requested dtype if JavaScript has a typed array for it. `wanted` is
 * the requested dtype, `usual` the dtype of numbers without one.
 */
export function flatten(
  fn: string,
  data: unknown,
  shape: readonly number[],
  wanted: DType | undefined,
  usual: DType,
): Flat {
  const count = shape.reduce((product, size) => product * size, 1);
  const row = firstRow(data);
  if (isTypedArray(row) && wanted === undefined && areRows(data, typedArrayName(row)))
    return joined(fn, data, shape, row, count);
  const first = isTypedArray(row) ? row[0] : row;
  const none = first === undefined && count === 0;
  const kind = (none ? 'number' : isComplex(first) ? 'complex' : typeof first) as Leaf;
  const float = (wanted ?? usual) === 'float32' ? 'float32' : 'float64';
  const result = (array: ArrayBufferView, dtype: DType, write: Writer) => {
    const becomes = wanted !== undefined && isInteger(wanted) ? wanted : dtype;
    writeAll(data, shape, { fn, kind, dtype: becomes, write });
    return { array, dtype, kind, isTyped: false };
  };
  switch (kind) {
    case 'number': {
      const array = float === 'float32' ? new Float32Array(count) : new Float64Array(count);
      const unsigned = wanted !== undefined && isUnsigned(wanted);
      return result(array, float, unsigned ? unsignedInto(array as Float64Array) : numbersInto(array));
    }
    case 'bigint': {
      const array = wanted === 'uint64' ? new BigUint64Array(count) : new BigInt64Array(count);
      return result(array, wanted === 'uint64' ? wanted : 'int64', bigintsInto(array));
    }
    case 'boolean': {
      const array = new Uint8Array(count);
      return result(array, 'bool', booleansInto(array));
    }
    case 'complex': {
      // As in Python, where float(1j) is an error: the imaginary part would be lost.
      if (wanted !== undefined && wanted !== 'bool' && !wanted.startsWith('complex')) {
        throw refusal(fn, 'data', `real numbers, for the dtype '${wanted}'`, 'complex ones');
      }
      const array = float === 'float32' ? new Float32Array(2 * count) : new Float64Array(2 * count);
      return result(array, float === 'float32' ? 'complex64' : 'complex128', complexInto(array));
    }
    default: {
      const hint = isTensor(first) ? ' (torch.stack(list) joins Tensors)' : elsewhere(first);
      const expected = `numbers, bigints, booleans, complex numbers, nested arrays or a typed array${hint}`;
      throw argumentError(fn, 'data', expected, first);
    }
  }
}

/** The error for an array with an element that an integer dtype cannot hold; none if the element changed meanwhile. */
export function misfitIn(
  fn: string,
  array: TypedArray,
  shape: readonly number[],
  wanted: DType,
  floats: boolean,
): Error | undefined {
  const at = firstOutside(array, wanted, floats);
  if (at < 0) return undefined;
  const path: number[] = [];
  let rest = at;
  for (let dim = shape.length - 1; dim >= 0; dim--) {
    path.unshift(rest % shape[dim]!);
    rest = Math.floor(rest / shape[dim]!);
  }
  return misfit(fn, typeof array[at] as Leaf, wanted, array[at], path);
}
