/** Storages in the files of Python's `torch.save`: the classes that name their dtype, and bytes for later dtypes. */
import type { DType } from '../../types/base';
import { dtypeCodes } from '../addon/enums';
import type { Tensor } from '../tensor/tensor';

/** Storage classes such as torch.FloatStorage: the dtype, and bytes per element. */
const storages: Readonly<Record<string, readonly [DType, number]>> = {
  BoolStorage: ['bool', 1],
  ByteStorage: ['uint8', 1],
  CharStorage: ['int8', 1],
  ShortStorage: ['int16', 2],
  IntStorage: ['int32', 4],
  LongStorage: ['int64', 8],
  HalfStorage: ['float16', 2],
  BFloat16Storage: ['bfloat16', 2],
  FloatStorage: ['float32', 4],
  DoubleStorage: ['float64', 8],
  ComplexFloatStorage: ['complex64', 8],
  ComplexDoubleStorage: ['complex128', 16],
};

/** The class of a dtype, and its bytes per element. */
export const storageOf = new Map(Object.entries(storages).map(([name, [dtype, bytes]]) => [dtype, { name, bytes }]));

/** The storage of dtypes without a class: bytes, which each tensor of `_rebuild_tensor_v3` reads as its own dtype. */
export const UNTYPED = 'UntypedStorage';

/** These dtypes, with their bytes per element. */
export const untypedSizes: Readonly<Record<string, number>> = {
  uint16: 2,
  uint32: 4,
  uint64: 8,
  complex32: 4,
  float8_e5m2: 1,
  float8_e4m3fn: 1,
  float8_e5m2fnuz: 1,
  float8_e4m3fnuz: 1,
  float8_e8m0fnu: 1,
  float4_e2m1fn_x2: 1,
};

/** Whether it is one of them, and the installed libtorch has it. */
export const isUntyped = (dtype: unknown): dtype is DType =>
  typeof dtype === 'string' && Object.hasOwn(untypedSizes, dtype) && dtypeCodes.has(dtype);

/** The dtype of a class, and its bytes per element; undefined for other names. */
export function itemOf(name: string): readonly [DType, number] | undefined {
  if (name === UNTYPED) return ['uint8', 1];
  return Object.hasOwn(storages, name) ? storages[name] : undefined;
}

/** A storage of a file, as its tensors use it. */
export class Stored {
  constructor(
    readonly elements: Tensor,
    /** The name of its class. */
    readonly type: string,
    readonly count: number,
  ) {}
}
