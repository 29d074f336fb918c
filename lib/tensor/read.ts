/** Tensor data as JavaScript: nested arrays and typed arrays. */

import type { DType } from '../../types/base';
import { native } from '../addon/native';
import { codedError } from '../errors/errors';
import { Complex } from '../errors/values';
import { requireHeapRoom } from './heap-room';
import type { Tensor } from './tensor';

/** Elements as JavaScript values. */
export type Element = number | bigint | boolean | Complex;
export type NestedArray = Element | NestedArray[];

type ReadArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/**
 * The elements in row-major order, as a new typed array: float32, float64 and integers unchanged, bool as Uint8Array (0 or
 * 1), 16-bit and 8-bit floats as Float32Array, complex numbers as alternating real and imaginary parts. `fn`: the function
 * that errors name.
 */
export function toTypedArray(tensor: Tensor, fn = 'toTypedArray'): ReadArray {
  const read = (source: Tensor) => {
    const buffer = newBuffer(source.nbytes, fn);
    native.copyInto(source._handle, buffer);
    return buffer;
  };
  const converted = (dtype: 'float32' | 'float64' | 'complex64') => {
    const other = tensor.detach();
    const wide = other.to(dtype);
    try {
      return read(wide);
    } finally {
      wide.dispose();
      other.dispose();
    }
  };
  switch (tensor.dtype) {
    case 'float32':
    case 'complex64':
      return new Float32Array(read(tensor));
    case 'float64':
    case 'complex128':
      return new Float64Array(read(tensor));
    case 'float16':
    case 'bfloat16':
    case 'float8_e5m2':
    case 'float8_e4m3fn':
    case 'float8_e5m2fnuz':
    case 'float8_e4m3fnuz':
    case 'float8_e8m0fnu':
      return new Float32Array(converted('float32'));
    case 'complex32':
      return new Float32Array(converted('complex64'));
    case 'int8':
      return new Int8Array(read(tensor));
    case 'uint8':
    case 'bool':
      return new Uint8Array(read(tensor));
    case 'int16':
      return new Int16Array(read(tensor));
    case 'uint16':
      return new Uint16Array(read(tensor));
    case 'uint32':
      return new Uint32Array(read(tensor));
    case 'uint64':
      return new BigUint64Array(read(tensor));
    case 'int32':
      return new Int32Array(read(tensor));
    case 'int64':
      return new BigInt64Array(read(tensor));
    default:
      throw codedError(
        TypeError,
        'ERR_TORCH_ARGUMENT',
        `${fn}: no typed array holds ${tensor.dtype}; use dequantize() or to() first`,
      );
  }
}

function newBuffer(bytes: number, fn: string): ArrayBuffer {
  try {
    return new ArrayBuffer(bytes);
  } catch (error) {
    const text = `${fn}: cannot allocate ${bytes} bytes for JavaScript: ${(error as Error).message}`;
    throw codedError(Error, 'ERR_TORCH_OUT_OF_MEMORY', text);
  }
}

/** For what is read at once: a new ArrayBuffer takes longer than the rest of a small `toArray`. */
const scratch = new ArrayBuffer(512);
const views: Partial<Record<DType, ReadArray>> = {
  float32: new Float32Array(scratch),
  float64: new Float64Array(scratch),
  int8: new Int8Array(scratch),
  uint8: new Uint8Array(scratch),
  bool: new Uint8Array(scratch),
  int16: new Int16Array(scratch),
  int32: new Int32Array(scratch),
  int64: new BigInt64Array(scratch),
};

/** The elements of a small tensor, until the next call; undefined for others. */
function small(tensor: Tensor, shape: readonly number[], dtype: DType): ReadArray | undefined {
  const view = views[dtype];
  if (view === undefined) return undefined;
  let elements = 1;
  for (const size of shape) elements *= size;
  if (elements > view.length) return undefined;
  native.copyInto(tensor._handle, scratch);
  return view;
}

/** Returns a function that converts the element at an index of the flat array to a JS value. */
function reader(dtype: DType, flat: ReadArray): (index: number) => Element {
  switch (dtype) {
    case 'bool':
      return (i) => flat[i] !== 0;
    case 'int64':
    case 'uint64':
      return (i) => {
        const wide = flat[i] as bigint;
        const narrow = Number(wide);
        return Number.isSafeInteger(narrow) ? narrow : wide;
      };
    case 'complex32':
    case 'complex64':
    case 'complex128':
      return (i) => new Complex(flat[2 * i] as number, flat[2 * i + 1] as number);
    default:
      return (i) => flat[i] as number;
  }
}

/**
 * The elements as nested arrays, or the element itself for a tensor without dimensions. Throws ERR_TORCH_OUT_OF_MEMORY if
 * V8's heap lacks room for them.
 */
export function toArray(tensor: Tensor): NestedArray {
  const { shape, dtype } = tensor;
  requireHeapRoom('toArray', shape, dtype.startsWith('complex'));
  const read = reader(dtype, small(tensor, shape, dtype) ?? toTypedArray(tensor, 'toArray'));
  let next = 0;
  const last = shape.length - 1;
  const build = (depth: number): NestedArray[] => {
    const size = shape[depth]!;
    const list: NestedArray[] = [];
    if (depth === last) for (let i = 0; i < size; i++) list.push(read(next++));
    else for (let i = 0; i < size; i++) list.push(build(depth + 1));
    return list;
  };
  return last < 0 ? read(0) : build(0);
}
