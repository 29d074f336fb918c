/** Nested arrays to flat typed arrays, for torch.tensor: one pass, and the path to the first thing that does not fit. */
import type { DType } from '../types/base';
import { argumentError, refusal } from './errors';
import { isComplex } from './values';

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

/** "Float32Array": by tag, so that arrays of another realm count. Buffer is a Uint8Array. '' for what is none. */
export const typedArrayName = (value: unknown) => (tagOf.call(value) ?? '') as string;

export const isTypedArray = (value: unknown): value is TypedArray =>
  typeof value === 'object' && typedArrayName(value) !== '';

/** What takes memory without a type. */
export const elsewhere = (value: unknown): string =>
  value instanceof DataView || /^\[object (?:Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(value))
    ? ' (torch.frombuffer(buffer, { dtype }) reads a DataView or an ArrayBuffer)'
    : '';

/** libtorch's own limit; arrays that contain themselves end here. */
const MOST_DIMENSIONS = 64;

/** The sizes of a nesting, from its first elements. */
export function shapeOf(data: unknown): number[] {
  const shape: number[] = [];
  let inner = data;
  while (Array.isArray(inner) || isTypedArray(inner)) {
    shape.push(inner.length);
    if (shape.length > MOST_DIMENSIONS) {
      throw refusal('tensor', 'data', `at most ${MOST_DIMENSIONS} nested arrays`, 'deeper ones, or a cycle');
    }
    if (isTypedArray(inner)) break;
    inner = inner[0];
    if (inner === undefined) break;
  }
  return shape;
}

function firstLeaf(data: unknown): unknown {
  let value = data;
  while (Array.isArray(value)) value = value[0];
  return isTypedArray(value) ? value[0] : value;
}

type Leaf = 'number' | 'bigint' | 'boolean' | 'complex';
type Row = ArrayLike<unknown>;

/**
 * Writes the elements of the innermost arrays: of `row` from `next` on. Answers where it came to what does not fit, or
 * the length of the row. One function for each kind, whose loop the compiler knows.
 */
type Writer = (row: Row, next: number) => number;

function numbersInto(array: Float32Array | Float64Array): Writer {
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

function bigintsInto(array: BigInt64Array): Writer {
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

/** Real and imaginary parts in turn. */
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

function misfit(kind: Leaf, value: unknown, path: readonly number[]): Error {
  const where = `data${pathText(path)}`;
  const wide = kind === 'bigint' && typeof value === 'bigint';
  const noun = kind === 'complex' ? 'complex number' : kind;
  const expected = wide ? `an integer of 64 bits at ${where}` : `a ${noun} at ${where}, as its first element is one`;
  return argumentError('tensor', 'data', expected, value);
}

function writeAll(data: unknown, shape: readonly number[], kind: Leaf, write: Writer): void {
  const last = shape.length - 1;
  const path: number[] = [];
  let next = 0;
  const visit = (value: unknown, depth: number): void => {
    if (!Array.isArray(value) && !isTypedArray(value)) {
      throw argumentError('tensor', 'data', `an array of ${shape[depth]} at data${pathText(path)}`, value);
    }
    const { length } = value;
    if (length !== shape[depth]) {
      throw refusal('tensor', 'data', `${shape[depth]} elements at data${pathText(path)}`, `${length} elements`);
    }
    if (depth === last) {
      const written = write(value, next);
      if (written !== length) throw misfit(kind, value[written], [...path, written]);
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
  else if (write([data], 0) === 0) throw misfit(kind, data, path);
}

/**
 * A flat typed array of the leaves, and the dtype that it has. `float` is what numbers become: the dtype that is wanted,
 * where it is float32 or float64.
 */
export function flatten(
  data: unknown,
  shape: readonly number[],
  float: 'float32' | 'float64',
): { array: ArrayBufferView; dtype: DType; kind: Leaf } {
  const count = shape.reduce((product, size) => product * size, 1);
  const first = firstLeaf(data);
  const none = first === undefined && count === 0;
  const kind = (none ? 'number' : isComplex(first) ? 'complex' : typeof first) as Leaf;
  switch (kind) {
    case 'number': {
      const array = float === 'float32' ? new Float32Array(count) : new Float64Array(count);
      writeAll(data, shape, kind, numbersInto(array));
      return { array, dtype: float, kind };
    }
    case 'bigint': {
      const array = new BigInt64Array(count);
      writeAll(data, shape, kind, bigintsInto(array));
      return { array, dtype: 'int64', kind };
    }
    case 'boolean': {
      const array = new Uint8Array(count);
      writeAll(data, shape, kind, booleansInto(array));
      return { array, dtype: 'bool', kind };
    }
    case 'complex': {
      const array = float === 'float32' ? new Float32Array(2 * count) : new Float64Array(2 * count);
      writeAll(data, shape, kind, complexInto(array));
      return { array, dtype: float === 'float32' ? 'complex64' : 'complex128', kind };
    }
    default:
      throw argumentError(
        'tensor',
        'data',
        `numbers, bigints, booleans, complex numbers, nested arrays or a typed array${elsewhere(first)}`,
        first,
      );
  }
}
