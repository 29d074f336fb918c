/** Functions of the Python module for queries, and for tensors from existing data. */
import type { Device, DType } from '../../types/base';
import { dtypeName } from '../addon/enums';
import { native } from '../addon/native';
import { define } from '../call/define';
import { fromTypedArray, type TensorData, type TypedArray, tensorFor } from '../elements/create';
import { requiring } from '../tensor/requiring';
import { isTensor, type Tensor } from '../tensor/tensor';
import { finfo, iinfo } from './dtype-info';
import { refusal, refuse } from './support';
import { typeName } from './tensor-methods';

/** The shape to which shapes broadcast. */
function broadcastShapes(shapes: unknown[]): number[] {
  const lists = shapes.map((shape) => (Array.isArray(shape) ? shape : [shape]) as number[]);
  const result = new Array<number>(Math.max(0, ...lists.map((list) => list.length))).fill(1);
  for (const list of lists) {
    list.forEach((size, i) => {
      if (!Number.isInteger(size) || size < 0) {
        throw refuse('broadcastShapes', 'shapes', 'sizes of 0 or more, or lists of them', size);
      }
      const at = result.length - list.length + i;
      if (size === 1 || size === result[at]) return;
      if (result[at] !== 1) {
        throw refuse('broadcastShapes', 'shapes', `size 1 or ${result[at]} at dimension ${at} of the result`, size);
      }
      result[at] = size;
    });
  }
  return result;
}

const dtypeOption = (dtype: string | null) => (dtype === null ? {} : { dtype: dtype as DType });
const deviceOption = (device: string | null) => (device === null ? {} : { device: device as Device });

const asTensor = (data: unknown, dtype: string | null, device: string | null): Tensor =>
  tensorOver('asTensor', data, dtype, device);

/** The tensor itself if nothing changes, a typed array's memory if it can be shared, else a copy. */
function tensorOver(fn: string, data: unknown, dtype: string | null, device: string | null): Tensor {
  const options = { ...dtypeOption(dtype), ...deviceOption(device) };
  if (isTensor(data)) return converted(data, dtype, device, false);
  if (!ArrayBuffer.isView(data) || (device !== null && device !== 'cpu'))
    return tensorFor(fn, data as TensorData, options);
  const shared = fromTypedArray(data as TypedArray);
  if (dtype === null || dtype === shared.dtype) return shared;
  shared.dispose();
  return tensorFor(fn, data as TensorData, options);
}

function converted(data: Tensor, dtype: string | null, device: string | null, copy: boolean): Tensor {
  const changes = copy || (dtype !== null && dtype !== data.dtype) || (device !== null && device !== data.device);
  if (!changes) return data;
  return data.to({ dtype: (dtype ?? data.dtype) as DType, device: (device ?? data.device) as Device, copy });
}

function asarray(
  obj: unknown,
  dtype: string | null,
  device: string | null,
  copy: boolean | null,
  requiresGrad: boolean,
): Tensor {
  const options = { ...dtypeOption(dtype), ...deviceOption(device) };
  const fresh = copy === true && !isTensor(obj);
  let result = fresh ? tensorFor('asarray', obj as TensorData, options) : tensorOver('asarray', obj, dtype, device);
  if (isTensor(obj)) {
    if (copy === true && result === obj) result = obj.clone();
    // As in PyTorch, the result has no history.
    if (!requiresGrad && result.requiresGrad) result = result.detach();
  } else if (copy === false && !ArrayBuffer.isView(obj)) {
    throw refuse('asarray', 'copy', 'a typed array or a Tensor if copy is false', obj);
  }
  if (!requiresGrad) return result;
  if (result !== obj) return requiring(result);
  result.requiresGrad = true;
  return result;
}

const arrays: Record<string, new (buffer: ArrayBuffer, offset: number, length: number) => TypedArray> = {
  uint8: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  float32: Float32Array,
  float64: Float64Array,
} as never;

/** A tensor of one dimension over the memory of a buffer, from an offset in bytes. */
function frombuffer(buffer: unknown, dtype: string, count: number, offset: number, requiresGrad: boolean): Tensor {
  const view = ArrayBuffer.isView(buffer) ? buffer : undefined;
  const memory = view === undefined ? (buffer as ArrayBuffer) : (view.buffer as ArrayBuffer);
  if (view === undefined && !/^\[object (?:Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(buffer))) {
    throw refuse('frombuffer', 'buffer', 'an ArrayBuffer, a Buffer or another view of one', buffer);
  }
  const array = arrays[dtype];
  if (array === undefined) throw refuse('frombuffer', 'dtype', `one of ${Object.keys(arrays).join(', ')}`, dtype);
  const itemSize = (array as unknown as { BYTES_PER_ELEMENT: number }).BYTES_PER_ELEMENT;
  const { byteOffset, byteLength } = view ?? { byteOffset: 0, byteLength: memory.byteLength };
  const left = byteLength - offset;
  if (offset < 0 || left <= 0) throw refuse('frombuffer', 'offset', `from 0 to less than ${byteLength} bytes`, offset);
  if (count < 0 && left % itemSize !== 0) {
    throw refusal('frombuffer', 'buffer', `a multiple of ${itemSize} bytes after the offset`, `${left} bytes`);
  }
  const length = count < 0 ? left / itemSize : count;
  if (length * itemSize > left || length === 0) {
    throw refuse('frombuffer', 'count', `at most ${Math.floor(left / itemSize)} elements, at least 1`, count);
  }
  if ((byteOffset + offset) % itemSize !== 0) {
    throw refuse('frombuffer', 'offset', `a multiple of ${itemSize} bytes in its ArrayBuffer`, byteOffset + offset);
  }
  const result = fromTypedArray(new array(memory, byteOffset + offset, length));
  return requiresGrad ? requiring(result) : result;
}

define([''], {
  broadcastShapes,
  asTensor,
  asarray,
  frombuffer,
  isTensor: (obj: unknown) => isTensor(obj),
  numel: (input: Tensor) => input.numel,
  typename: (o: unknown) => (isTensor(o) ? typeName(o) : typeof o),
  finfo: (dtype: string | null) => finfo((dtype ?? dtypeName(native.getDefaultDtype())) as DType),
  iinfo: (dtype: string) => iinfo(dtype as DType),
});
