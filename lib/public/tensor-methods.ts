/** Methods of torch.Tensor that are written in Python or in its bindings, and have no op of that name. */
import type { Device, DType, Layout, MemoryFormat } from '../../types/base';
import { native } from '../addon/native';
import { composed, define, type Implementation } from '../call/define';
import { type TensorData, tensor, tensorFor } from '../elements/create';
import { argumentError, describe } from '../errors/errors';
import { asUser } from '../lifetimes/user-code';
import { requireNoRecording } from '../tensor/pending';
import { readValue } from '../tensor/reading';
import { isTensor, requireLive, type Tensor } from '../tensor/tensor';
import { aten } from './ops';
import { refuse } from './support';

const toDtype = (dtype: DType) => (self: Tensor, memoryFormat: MemoryFormat | null) =>
  memoryFormat === null ? self.to(dtype) : self.to(dtype, { memoryFormat });

const conversions: Record<string, DType> = {
  bfloat16: 'bfloat16',
  bool: 'bool',
  byte: 'uint8',
  cdouble: 'complex128',
  cfloat: 'complex64',
  chalf: 'complex32',
  char: 'int8',
  double: 'float64',
  float: 'float32',
  half: 'float16',
  int: 'int32',
  long: 'int64',
  short: 'int16',
};
define(['Tensor'], Object.fromEntries(
  Object.entries(conversions).map(([name, dtype]) => [name, toDtype(dtype) as Implementation]),
));

/** "torch.cuda.sparse.FloatTensor": PyTorch's name of a tensor's type. */
export function typeName(self: Tensor): string {
  const names: Partial<Record<DType, string>> = {
    uint8: 'Byte',
    int8: 'Char',
    int16: 'Short',
    int32: 'Int',
    int64: 'Long',
    float16: 'Half',
    float32: 'Float',
    float64: 'Double',
    complex32: 'ComplexHalf',
    complex64: 'ComplexFloat',
    complex128: 'ComplexDouble',
    bool: 'Bool',
    bfloat16: 'BFloat16',
    qint8: 'QInt8',
    quint8: 'QUInt8',
    qint32: 'QInt32',
  };
  const spaces: Partial<Record<Layout, string>> = { sparse_coo: '.sparse', sparse_csr: '.sparse_csr' };
  const device = self.device.split(':')[0]!;
  const place = device === 'cpu' ? '' : `.${device}`;
  return `torch${place}${spaces[self.layout] ?? ''}.${names[self.dtype] ?? self.dtype}Tensor`;
}

/** The target of `cuda(device)`: the current device, or one by number or name. */
function cudaDevice(device: unknown): Device {
  if (device === null || device === 'cuda') return 'cuda';
  if (typeof device === 'number' && Number.isInteger(device) && device >= 0) return `cuda:${device}`;
  if (typeof device === 'string' && /^cuda:\d+$/.test(device)) return device as Device;
  throw refuse('cuda', 'device', "a device number, 'cuda' or 'cuda:N'", device);
}

/** Strides of a contiguous tensor, with the dimensions in this order, the innermost first. */
function isDenseIn(shape: readonly number[], strides: readonly number[], order: readonly number[]): boolean {
  let expected = 1;
  for (const dim of order) {
    const size = shape[dim]!;
    if (size === 1) continue;
    if (strides[dim] !== expected) return false;
    expected *= size;
  }
  return true;
}

const innermostFirst = (shape: readonly number[]) => shape.map((_, dim) => shape.length - 1 - dim);

function isContiguous(self: Tensor, memoryFormat: MemoryFormat | null): boolean {
  const { shape, strides } = self;
  const last = shape.length - 1;
  switch (memoryFormat) {
    case null:
    case 'contiguous':
      return shape.includes(0) || isDenseIn(shape, strides, innermostFirst(shape));
    case 'channels_last':
      return last === 3 && isDenseIn(shape, strides, [1, 3, 2, 0]);
    case 'channels_last_3d':
      return last === 4 && isDenseIn(shape, strides, [1, 4, 3, 2, 0]);
    default:
      throw refuse('isContiguous', 'memoryFormat', "'contiguous', 'channels_last' or 'channels_last_3d'", memoryFormat);
  }
}

/** Replaces the elements with a function of them and of the elements of other tensors. */
function fromCallable(name: string, self: Tensor, others: Tensor[], callable: unknown): Tensor {
  if (typeof callable !== 'function') throw refuse(name, 'callable', 'a function', callable);
  requireNoRecording(name);
  requireLive(name, 'self', self);
  if (self.requiresGrad) throw refuse(name, 'self', 'a Tensor that does not require grad (detach it)', self);
  const flat = (t: Tensor) => t.reshape([-1]).toArray() as unknown[];
  const rest = others.map((other) => flat(other.expandAs(self)));
  const elements = flat(self);
  const values = asUser(() =>
    elements.map((element, i) => readValue(callable(element, ...rest.map((list) => list[i]))) as TensorData),
  );
  if (values.length > 0) self.copy_(fromValues(name, self, values).view(self.shape));
  return self;
}

function fromValues(name: string, self: Tensor, values: TensorData[]): Tensor {
  const wide = self.dtype === 'int64' && values.some((value) => typeof value === 'bigint');
  const complex = self.isComplex();
  const bad = values.find((value) => typeof value === 'object' && !complex);
  if (bad !== undefined) throw argumentError(name, 'callable', `a number for ${self.dtype}`, describe(bad));
  if (complex) return complexValues(values as unknown as (number | { re: number; im: number })[]);
  return tensorFor(name, wide ? values.map(bigintOf) : values, { dtype: self.dtype });
}

/** Truncates a number, as PyTorch does; other values are refused later. */
const bigintOf = (value: TensorData): TensorData =>
  typeof value === 'number' && Number.isFinite(value) ? BigInt(Math.trunc(value)) : value;

function complexValues(values: readonly (number | { re: number; im: number })[]): Tensor {
  const part = (which: 're' | 'im') =>
    tensor(
      values.map((value) => (typeof value === 'number' ? (which === 're' ? value : 0) : value[which])),
      { dtype: 'float64' },
    );
  return aten.complex!(part('re'), part('im'));
}

define(['Tensor'], {
  cpu: (self: Tensor, memoryFormat: MemoryFormat | null) =>
    memoryFormat === null ? self.to({ device: 'cpu' }) : self.to({ device: 'cpu', memoryFormat }),
  cuda: (self: Tensor, device: unknown, nonBlocking: boolean, memoryFormat: MemoryFormat | null) =>
    self.to({ device: cudaDevice(device), nonBlocking, ...(memoryFormat === null ? {} : { memoryFormat }) }),
  type: (self: Tensor, dtype: DType | null, nonBlocking: boolean) =>
    dtype === null ? typeName(self) : self.to(dtype, { nonBlocking }),
  dim: (self: Tensor) => self.ndim,
  ndimension: (self: Tensor) => self.ndim,
  nelement: (self: Tensor) => self.numel,
  elementSize: (self: Tensor) => native.itemSize(self._handle),
  storageOffset: (self: Tensor) => native.storageOffset(self._handle),
  isContiguous,
  size: (self: Tensor) => self.shape,
  to: (
    self: Tensor,
    device: Device,
    dtype: DType | null,
    nonBlocking: boolean,
    copy: boolean,
    memoryFormat: unknown,
  ) => {
    if (memoryFormat !== null || nonBlocking || copy) {
      const format = (memoryFormat as MemoryFormat | null) ?? undefined;
      return self.to({ device, dtype: dtype ?? undefined, nonBlocking, copy, memoryFormat: format });
    }
    return dtype === null ? self.to({ device }) : self.to({ dtype, device });
  },
  stride: (self: Tensor) => self.strides,
  tolist: (self: Tensor) => self.toArray(),
  newTensor: composed(
    (self: Tensor, data: unknown, dtype: DType | null, device: Device | null, requiresGrad: boolean) => {
      const options = { dtype: dtype ?? self.dtype, device: device ?? self.device };
      const result = isTensor(data)
        ? data.detach().to({ ...options, copy: true })
        : tensorFor('newTensor', data as TensorData, options);
      if (requiresGrad) result.requiresGrad = true;
      return result;
    },
  ),
  toSparseCoo: (self: Tensor) => self.toSparse(),
  apply_: composed((self: Tensor, callable: unknown) => fromCallable('apply_', self, [], callable)),
  map_: composed((self: Tensor, other: Tensor, callable: unknown) => fromCallable('map_', self, [other], callable)),
  map2_: composed((self: Tensor, x: Tensor, y: Tensor, callable: unknown) =>
    fromCallable('map2_', self, [x, y], callable),
  ),
});

define(['', 'Tensor'], {
  getDevice: (self: Tensor) => {
    const [kind, index] = self.device.split(':');
    return kind === 'cpu' ? -1 : Number(index ?? 0);
  },
});
