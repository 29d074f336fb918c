/** Tensors from JavaScript data. The dtype follows the JS type, never the values. */
import { types } from 'node:util';
import * as workers from 'node:worker_threads';
import type { DataDType, DataShape, Even, OptionOr, SizesOf, TensorOf } from '../../types/algebra/index';
import type { Complex, Device, DeviceLike, DType, DTypeLike, Scalar } from '../../types/base';
import { canonicalDtype, dtypeCodes, dtypeName } from '../addon/enums';
import { native } from '../addon/native';
import { ownOptions } from '../addon/options';
import { dtypeHint } from '../call/hints';
import { integers } from '../call/packed';
import { requireAtMost } from '../errors/arity';
import { givenDevice } from '../errors/devices';
import { argumentError, describe, refusal } from '../errors/errors';
import { holdsFloats, isInteger } from '../errors/integers';
import {
  elsewhere,
  flatten,
  isTypedArray,
  misfitIn,
  shapeOf,
  type TypedArray,
  typedArrayDtypes,
  typedArrayName,
} from '../tensor/nested';
import { withoutRecording } from '../tensor/pending';
import { requiring } from '../tensor/requiring';
import { isTensor, type Tensor, wrap } from '../tensor/tensor';

export type { TypedArray };

/** Numbers, bigints, booleans, complex numbers, nested arrays of them, or a typed array. */
export type TensorData = number | bigint | boolean | Complex | TypedArray | readonly TensorData[];

export interface TensorOptions<D extends DTypeLike = DTypeLike, V extends string = Device> {
  dtype?: D | undefined;
  device?: DeviceLike<V> | undefined;
  requiresGrad?: boolean | undefined;
}

function typedArrayDtype(fn: string, value: unknown): DType {
  const dtype = typedArrayDtypes.get(typedArrayName(value));
  if (dtype === undefined) {
    throw argumentError(fn, 'data', `one of ${[...typedArrayDtypes.keys()].join(', ')}`, value);
  }
  return dtype;
}

function dtypeCode(fn: string, dtype: DType): number {
  const code = dtypeCodes.get(dtype);
  if (code !== undefined) return code;
  throw refusal(fn, 'dtype', "a dtype such as 'float32'", describe(dtype) + dtypeHint(dtype));
}

/** Refuses an array whose buffer was transferred, which looks like an empty array. */
export function refuseDetached(fn: string, argument: string, { length, buffer }: TypedArray): void {
  if (length > 0) return;
  try {
    new Uint8Array(buffer, 0, 0);
  } catch {
    throw refusal(fn, argument, 'an array with its memory', 'one whose buffer was detached (transferred away)');
  }
}

/**
 * A tensor with a copy of `data`. number gives the default dtype, bigint int64, boolean bool, `{ re, im }` complex64 (of
 * float64 complex128), a typed array its own, also where all rows are of one class; `dtype` converts. Throws ERR_TORCH_ARGUMENT for ragged or mixed data, with the path to the fault.
 */
export function tensor<const T extends TensorData, D extends DTypeLike = never, const V extends string = Device>(
  data: T & Even<T>,
  options?: TensorOptions<D, V>,
): TensorOf<OptionOr<D, DataDType<T>>, DataShape<T>>;
export function tensor(data: TensorData, given: TensorOptions = {}): Tensor {
  return tensorFor('tensor', data, given);
}

/** The same for another function, whose name errors use. */
export function tensorFor(fn: string, data: TensorData, given: TensorOptions): Tensor {
  const options = ownOptions(fn, given, ['dtype', 'device', 'requiresGrad']);
  // Inside torch.run too: the data is available.
  return withoutRecording(() => fromData(fn, data, options));
}

function fromData(fn: string, data: TensorData, options: TensorOptions): Tensor {
  const { requiresGrad } = options;
  if (requiresGrad !== undefined && typeof requiresGrad !== 'boolean') {
    throw argumentError(fn, 'requiresGrad', 'a boolean', requiresGrad);
  }
  if (isTensor(data)) throw argumentError(fn, 'data', 'JavaScript data (for a copy use t.clone())', data);
  const dtype = options.dtype === undefined || options.dtype === null ? undefined : canonicalDtype(options.dtype);
  if (dtype !== undefined) dtypeCode(fn, dtype);
  const shape = shapeOf(fn, data);
  const elements = isTypedArray(data) ? typed(fn, data, dtype) : nested(fn, data, shape, dtype);
  const { array, natural, wanted } = elements;
  const device = givenDevice(fn, options.device);
  const whole = asIntegers(fn, elements, shape, device);
  const made = whole ?? wrap(native.fromCopy(array, shape, dtypeCode(fn, natural), device))!;
  if (wanted === natural || whole !== undefined) return requiresGrad ? requiring(made) : made;
  const converted = made.to(wanted);
  made.dispose();
  return requiresGrad ? requiring(converted) : converted;
}

/** Checks and converts numbers to an integer dtype in one pass. */
function asIntegers(fn: string, elements: Elements, shape: readonly number[], device: string | null) {
  const { array, natural, wanted, floats } = elements;
  if (wanted === natural || !isInteger(wanted) || natural === 'bool' || natural.startsWith('complex')) return undefined;
  const made = wrap(native.fromNumbers(array, shape, dtypeCode(fn, natural), device, dtypeCode(fn, wanted), floats));
  if (made !== null) return made;
  const error = misfitIn(fn, array as TypedArray, shape, wanted, floats);
  if (error !== undefined) throw error;
  return undefined; // another thread modified the memory: take its current contents
}

/** Elements in a flat array, their dtype there, and the requested dtype. */
interface Elements {
  readonly array: ArrayBufferView;
  readonly natural: DType;
  readonly wanted: DType;
  /** Elements of an array of doubles count as floats, whatever their values. */
  readonly floats: boolean;
}

function typed(fn: string, data: TypedArray, dtype: DType | undefined): Elements {
  refuseDetached(fn, 'data', data);
  const natural = typedArrayDtype(fn, data);
  return { array: data as ArrayBufferView, natural, wanted: dtype ?? natural, floats: holdsFloats(data) };
}

function nested(fn: string, data: unknown, shape: readonly number[], dtype: DType | undefined): Elements {
  const usual = dtypeName(native.getDefaultDtype());
  const { array, dtype: natural, kind, isTyped } = flatten(fn, data, shape, dtype, usual);
  return { array, natural, wanted: dtype ?? (kind === 'number' && !isTyped ? usual : natural), floats: false };
}

/** A validated copy of the shape. */
function checkedShape({ length }: TypedArray, given: unknown): number[] {
  const shape = integers(given);
  if (shape === undefined) throw argumentError('fromTypedArray', 'shape', 'an array of sizes of 0 or more', given);
  shape.forEach((size, i) => {
    if (size < 0) throw argumentError('fromTypedArray', `shape[${i}]`, 'a size of 0 or more', size);
  });
  const count = shape.reduce((product, size) => product * size, 1);
  if (count !== length) {
    throw refusal('fromTypedArray', 'shape', `a shape of ${length} elements`, `[${shape.join(', ')}], of ${count}`);
  }
  return shape;
}

/** Available since Node 21, which marks the buffers of addons itself; Node 24 fails at exit if one is marked again. */
const { isMarkedAsUntransferable } = workers as { isMarkedAsUntransferable?: (buffer: object) => boolean };

/** Read internal slots, whatever properties or prototype a program gave the object. */
const getter = (prototype: object, name: string): ((this: unknown) => unknown) | undefined =>
  Object.getOwnPropertyDescriptor(prototype, name)?.get;
const bufferOf = getter(Object.getPrototypeOf(Uint8Array.prototype), 'buffer')!;
const isResizable = getter(ArrayBuffer.prototype, 'resizable');

/** Skips WebAssembly memories: since Node 24 the process aborts when one with a marked buffer grows. */
function keepHere(buffer: ArrayBuffer): void {
  if (isMarkedAsUntransferable?.(buffer) !== true && native.isDetachable(buffer)) workers.markAsUntransferable(buffer);
}

/**
 * A tensor over the memory of a typed array: no copy, writes show on both sides, and the memory lives as long as the
 * tensor's storage, even where the array's buffer is detached. `shape` defaults to one dimension.
 */
export function fromTypedArray<A extends TypedArray, const S extends readonly number[] = [number]>(
  array: A,
  shape?: S,
): Tensor<DataDType<A>, SizesOf<S>>;
export function fromTypedArray(array: TypedArray, given?: readonly number[], ...more: unknown[]): Tensor {
  if (!isTypedArray(array)) throw argumentError('fromTypedArray', 'array', `a typed array${elsewhere(array)}`, array);
  refuseDetached('fromTypedArray', 'array', array);
  const shape = given === undefined ? [array.length] : checkedShape(array, given);
  requireAtMost('fromTypedArray', 2, [array, given, ...more]);
  if (given !== undefined) refuseDetached('fromTypedArray', 'array', array); // reading a shape can run the program's code
  const buffer = bufferOf.call(array);
  if (types.isArrayBuffer(buffer)) {
    // One that is shared can only grow.
    if (isResizable?.call(buffer)) {
      throw refusal('fromTypedArray', 'array', 'an array whose buffer cannot be resized', 'a resizable buffer');
    }
    // Transferred to another thread, the memory would have two owners; marked, the buffer is copied (or refused) instead.
    keepHere(buffer);
  }
  const dtype = typedArrayDtype('fromTypedArray', array);
  return wrap(native.fromBorrowed(array, shape, dtypeCode('fromTypedArray', dtype)))!;
}

/** The dtype that PyTorch gives to a number out of a tensor of this dtype. */
function numberDtype(dtype: DType): DType {
  if (dtype === 'bool') return 'bool';
  if (dtype.startsWith('complex'))
    return dtypeName(native.getDefaultDtype()) === 'float64' ? 'complex128' : 'complex64';
  return /^u?int/.test(dtype) ? 'int64' : dtypeName(native.getDefaultDtype());
}

/** The dtype that follows from a fill value's JS type. */
export function scalarDtype(fn: string, value: Scalar): DType {
  switch (typeof value) {
    case 'number':
      return dtypeName(native.getDefaultDtype());
    case 'bigint':
      return 'int64';
    case 'boolean':
      return 'bool';
    default:
      // A zero-dimensional tensor counts as a number.
      if (isTensor(value)) return numberDtype((value as Tensor).dtype);
      if (value !== null && typeof value === 'object') {
        return dtypeName(native.getDefaultDtype()) === 'float64' ? 'complex128' : 'complex64';
      }
      throw argumentError(fn, 'fillValue', 'a number, bigint, boolean or complex', value);
  }
}
