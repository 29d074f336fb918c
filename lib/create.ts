/** Tensors from JavaScript data. The dtype follows the JS type, never the values. */
import { markAsUntransferable } from 'node:worker_threads';
import type { DataDType, DataShape, Even, OptionOr, SizesOf, TensorOf } from '../types/algebra';
import type { Device, DType, Scalar } from '../types/base';
import { dtypeCodes, dtypeName } from './enums';
import { argumentError, describe } from './errors';
import { native } from './native';
import { isTensor, type Tensor, wrap } from './tensor';

/** Numbers, bigints, booleans, nested arrays of them, or a typed array. */
export type TensorData = number | bigint | boolean | TypedArray | readonly TensorData[];

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

export interface TensorOptions<D extends DType = DType> {
  dtype?: D;
  device?: Device;
  requiresGrad?: boolean;
}

/** Those whose dtype the libtorch at hand has: uint16, uint32 and uint64 came with 2.3. */
const typedArrayDtypes = new Map<string, DType>(
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

/** "Float32Array": by tag, so that arrays of another realm count. Buffer is a Uint8Array. */
const typedArrayName = (value: unknown) =>
  (Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)!.get!.call(value) ??
    '') as string;

function typedArrayDtype(fn: string, value: unknown): DType {
  const dtype = typedArrayDtypes.get(typedArrayName(value));
  if (dtype === undefined) {
    throw argumentError(fn, 'data', `one of ${[...typedArrayDtypes.keys()].join(', ')}`, value);
  }
  return dtype;
}

const isTypedArray = (value: unknown): value is TypedArray => typedArrayName(value) !== '';

/** libtorch's own limit; arrays that contain themselves end here. */
const MOST_DIMENSIONS = 64;

/** The sizes of a nesting, from its first elements. */
function shapeOf(data: unknown): number[] {
  const shape: number[] = [];
  let inner = data;
  while (Array.isArray(inner) || isTypedArray(inner)) {
    shape.push(inner.length);
    if (shape.length > MOST_DIMENSIONS) {
      throw argumentError('tensor', 'data', `at most ${MOST_DIMENSIONS} nested arrays`, 'deeper ones, or a cycle');
    }
    if (isTypedArray(inner)) break;
    inner = inner[0];
    if (inner === undefined) break;
  }
  return shape;
}

/** Writes the leaves in row-major order; names the path to what does not fit. */
function fill(data: unknown, shape: readonly number[], leaf: (value: unknown, path: number[]) => void): void {
  const path: number[] = [];
  const visit = (value: unknown, depth: number): void => {
    if (depth === shape.length) {
      leaf(value, path);
      return;
    }
    if (!Array.isArray(value) && !isTypedArray(value)) {
      throw argumentError('tensor', 'data', `an array of ${shape[depth]} at data${pathText(path)}`, value);
    }
    if (value.length !== shape[depth]) {
      throw argumentError(
        'tensor',
        'data',
        `${shape[depth]} elements at data${pathText(path)}`,
        `${value.length} elements`,
      );
    }
    for (let i = 0; i < value.length; i++) {
      path.push(i);
      visit(value[i], depth + 1);
      path.pop();
    }
  };
  visit(data, 0);
}

const pathText = (path: readonly number[]) => path.map((i) => `[${i}]`).join('');

type Leaf = 'number' | 'bigint' | 'boolean';

function firstLeaf(data: unknown): unknown {
  let value = data;
  while (Array.isArray(value)) value = value[0];
  return isTypedArray(value) ? (value as TypedArray)[0] : value;
}

/** A flat typed array of the leaves, and the dtype that their JS type gives. */
function flatten(data: TensorData, shape: readonly number[]): { array: ArrayBufferView; dtype: DType } {
  const count = shape.reduce((product, size) => product * size, 1);
  const first = firstLeaf(data);
  const kind = (first === undefined ? 'number' : typeof first) as Leaf;
  if (kind !== 'number' && kind !== 'bigint' && kind !== 'boolean') {
    throw argumentError('tensor', 'data', 'numbers, bigints, booleans, nested arrays or a typed array', first);
  }
  let next = 0;
  const check = (value: unknown, path: readonly number[]) => {
    if (typeof value === kind) return;
    throw argumentError('tensor', 'data', `a ${kind} at data${pathText(path)}, as its first element is one`, value);
  };
  if (kind === 'bigint') {
    const array = new BigInt64Array(count);
    fill(data, shape, (value, path) => {
      check(value, path);
      const wide = value as bigint;
      if (BigInt.asIntN(64, wide) !== wide) {
        throw argumentError('tensor', 'data', `an integer of 64 bits at data${pathText(path)}`, value);
      }
      array[next++] = wide;
    });
    return { array, dtype: 'int64' };
  }
  if (kind === 'boolean') {
    const array = new Uint8Array(count);
    fill(data, shape, (value, path) => {
      check(value, path);
      array[next++] = value ? 1 : 0;
    });
    return { array, dtype: 'bool' };
  }
  const array = new Float64Array(count);
  fill(data, shape, (value, path) => {
    check(value, path);
    array[next++] = value as number;
  });
  return { array, dtype: 'float64' };
}

function dtypeCode(fn: string, dtype: DType): number {
  const code = dtypeCodes.get(dtype);
  if (code === undefined) throw argumentError(fn, 'dtype', "a dtype such as 'float32'", dtype);
  return code;
}

/** The options' own properties: what a program put on Object.prototype is no option of this call. */
function ownOptions<T extends object>(fn: string, options: T, known: readonly string[]): T {
  if (typeof options !== 'object' || options === null) throw argumentError(fn, 'options', 'an object', options);
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw argumentError(fn, 'options', `options among ${known.join(', ')}`, `'${name}'`);
    }
  }
  return Object.assign(Object.create(null), options);
}

/**
 * A tensor with a copy of `data`. number gives the default dtype, bigint int64, boolean bool, a typed array its own;
 * `dtype` converts. Throws ERR_TORCH_ARGUMENT for ragged or mixed data, with the path to the fault.
 */
export function tensor<const T extends TensorData, D extends DType = never>(
  data: T & Even<T>,
  options?: TensorOptions<D>,
): TensorOf<OptionOr<D, DataDType<T>>, DataShape<T>>;
export function tensor(data: TensorData, given: TensorOptions = {}): Tensor {
  const options = ownOptions('tensor', given, ['dtype', 'device', 'requiresGrad']);
  if (isTensor(data)) throw argumentError('tensor', 'data', 'JavaScript data (for a copy use t.clone())', data);
  const shape = shapeOf(data);
  const typed = isTypedArray(data);
  const { array, dtype: natural } = typed
    ? { array: data as ArrayBufferView, dtype: typedArrayDtype('tensor', data) }
    : flatten(data, shape);
  const numbers = !typed && natural === 'float64';
  const wanted = options.dtype ?? (numbers ? dtypeName(native.getDefaultDtype()) : natural);
  const code = dtypeCode('tensor', wanted);
  const device = options.device ?? null;
  let handle: number;
  if (wanted === natural) {
    handle = native.fromCopy(array, shape, code, device);
  } else if (numbers && wanted === 'float32') {
    handle = native.fromCopy(Float32Array.from(array as Float64Array), shape, code, device);
  } else {
    const whole = wrap(native.fromCopy(array, shape, dtypeCode('tensor', natural), device))!;
    const converted = whole.to(wanted);
    whole.dispose();
    if (options.requiresGrad !== undefined) converted.requiresGrad = options.requiresGrad;
    return converted;
  }
  const result = wrap(handle)!;
  if (options.requiresGrad) result.requiresGrad = true;
  return result;
}

/**
 * A tensor over the memory of a typed array: no copy, writes show on both sides, and the array lives as long as the
 * tensor's storage. `shape` defaults to one dimension.
 */
export function fromTypedArray<A extends TypedArray, const S extends readonly number[] = [number]>(
  array: A,
  shape?: S,
): Tensor<DataDType<A>, SizesOf<S>>;
export function fromTypedArray(array: TypedArray, shape?: readonly number[]): Tensor {
  if (!isTypedArray(array)) throw argumentError('fromTypedArray', 'array', 'a typed array', array);
  if ((array.buffer as { resizable?: boolean; growable?: boolean }).resizable) {
    throw argumentError('fromTypedArray', 'array', 'an array whose buffer cannot be resized', 'a resizable buffer');
  }
  // Transferred to another thread, the memory would be freed there; marked, the buffer is copied (or refused) instead.
  // (By its tag: in Jest and vm contexts it is of another realm.)
  if (Object.prototype.toString.call(array.buffer) === '[object ArrayBuffer]') markAsUntransferable(array.buffer);
  const dtype = typedArrayDtype('fromTypedArray', array);
  return wrap(native.fromBorrowed(array, shape ?? [array.length], dtypeCode('fromTypedArray', dtype)))!;
}

/** The dtype that PyTorch gives to a number out of a tensor of this dtype. */
function numberDtype(dtype: DType): DType {
  if (dtype === 'bool') return 'bool';
  if (dtype.startsWith('complex'))
    return dtypeName(native.getDefaultDtype()) === 'float64' ? 'complex128' : 'complex64';
  return /^u?int/.test(dtype) ? 'int64' : dtypeName(native.getDefaultDtype());
}

/** The dtype that a fill value's JS type gives. */
export function scalarDtype(fn: string, value: Scalar): DType {
  switch (typeof value) {
    case 'number':
      return dtypeName(native.getDefaultDtype());
    case 'bigint':
      return 'int64';
    case 'boolean':
      return 'bool';
    default:
      // A tensor without dimensions stands for its number.
      if (isTensor(value)) return numberDtype((value as Tensor).dtype);
      if (value !== null && typeof value === 'object') {
        return dtypeName(native.getDefaultDtype()) === 'float64' ? 'complex128' : 'complex64';
      }
      throw argumentError(fn, 'fillValue', 'a number, bigint, boolean or complex', describe(value));
  }
}
