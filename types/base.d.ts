/** The basic types of op signatures. */
import type { Tensor } from '../lib/tensor/tensor';

export type { TensorData } from '../lib/elements/create';

/** An element type. The last nine exist only in libtorch 2; older versions refuse them (`torch.uint16` is undefined). */
export type DType =
  | 'float16'
  | 'bfloat16'
  | 'float32'
  | 'float64'
  | 'uint8'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'bool'
  | 'complex32'
  | 'complex64'
  | 'complex128'
  | 'qint8'
  | 'quint8'
  | 'qint32'
  | 'quint4x2'
  | 'quint2x4'
  | 'uint16'
  | 'uint32'
  | 'uint64'
  | 'float8_e5m2'
  | 'float8_e4m3fn'
  | 'float8_e5m2fnuz'
  | 'float8_e4m3fnuz'
  | 'float8_e8m0fnu'
  | 'float4_e2m1fn_x2';

/** PyTorch's aliases of dtypes. They are accepted wherever a dtype is; a tensor's `dtype` is the canonical name. */
export interface DTypeAliases {
  half: 'float16';
  float: 'float32';
  double: 'float64';
  short: 'int16';
  int: 'int32';
  long: 'int64';
  chalf: 'complex32';
  cfloat: 'complex64';
  cdouble: 'complex128';
}

/** A dtype argument: 'float' is 'float32'. */
export type DTypeLike = DType | keyof DTypeAliases;

/** The sizes of the dimensions. `number[]` is any shape. */
export type Shape = number[];

/** The kinds of devices that libtorch knows. */
type DeviceKind =
  | 'cpu'
  | 'cuda'
  | 'mkldnn'
  | 'opengl'
  | 'opencl'
  | 'ideep'
  | 'hip'
  | 've'
  | 'fpga'
  | 'maia'
  | 'ort'
  | 'xla'
  | 'lazy'
  | 'vulkan'
  | 'metal'
  | 'mps'
  | 'meta'
  | 'hpu'
  | 'mtia'
  | 'xpu'
  | 'ipu'
  | 'privateuseone';

/** A device: `'cpu'`, `'cuda:0'`. */
export type Device = DeviceKind | `${DeviceKind}:${number}`;

/** A device argument: any string variable, or a literal that names a device. */
export type DeviceLike<D> = string extends D ? D : Device;

/** The storage layout of the elements. */
export type Layout = 'strided' | 'sparse_coo' | 'sparse_csr' | 'sparse_csc' | 'sparse_bsr' | 'sparse_bsc' | '_mkldnn';

/** The order of the dimensions in memory. */
export type MemoryFormat = 'contiguous' | 'preserve' | 'channels_last' | 'channels_last_3d';

/** A complex number. */
export interface Complex {
  readonly re: number;
  readonly im: number;
}

/** A scalar argument of ops: its kind takes part in type promotion. */
export type Scalar = number | bigint | boolean | Complex;

/** An integer; in results, a bigint if a number cannot represent it exactly. */
export type Int = number | bigint;

/** Node's Buffer if the program has Node's types, else Uint8Array. The package's types need only TypeScript's own. */
export type NodeBuffer = typeof globalThis extends { Buffer: { alloc(size: number): infer B extends Uint8Array } }
  ? B
  : Uint8Array;

/** A ReadableStream of Uint8Arrays, if the program's type libraries have it. */
export type ByteStream = typeof globalThis extends { ReadableStream: { prototype: infer S } }
  ? S
  : AsyncIterable<Uint8Array>;

/**
 * A source of bytes: a ReadableStream, a Node Readable, a Blob or File, the bytes themselves, or any async iterable of
 * Uint8Arrays.
 */
export type ByteSource =
  | { getReader(): unknown }
  | { stream(): { getReader(): unknown } }
  | AsyncIterable<Uint8Array>
  | Uint8Array;

/** A URL object, if the program's type libraries have it. As a path its scheme is `file:`. */
export type FileUrl = typeof globalThis extends { URL: { prototype: infer U } }
  ? U
  : { readonly href: string; readonly protocol: string };

/** AbortSignal, if the program's type libraries have it. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer S } }
  ? S
  : { readonly aborted: boolean };

/** `torch.finfo`: properties of a floating-point dtype. */
export interface FInfo {
  readonly dtype: DType;
  readonly bits: number;
  /** The difference between 1 and the next larger number. */
  readonly eps: number;
  readonly max: number;
  readonly min: number;
  /** The smallest positive normal number. */
  readonly tiny: number;
  readonly smallestNormal: number;
  /** The decimal resolution. */
  readonly resolution: number;
}

/** `torch.iinfo`: properties of an integer dtype. */
export interface IInfo {
  readonly dtype: DType;
  readonly bits: number;
  readonly max: Int;
  readonly min: Int;
}

/** Several tensors: any iterable of them, except a tensor, which iterates over its rows. */
export type TensorList<T = Tensor> = Iterable<T> & { readonly storageBytes?: never };

/**
 * A list of tensors of unknown length. The first eight are `Tensor` even with `noUncheckedIndexedAccess`, which would make
 * them `Tensor | undefined`, so that `const [q, k, v] = x.unbind(0)` compiles.
 */
export type Parts<T> = T[] & FirstParts<T>;
interface FirstParts<T> {
  0: T;
  1: T;
  2: T;
  3: T;
  4: T;
  5: T;
  6: T;
  7: T;
}

/** A stream of a device; id 0 is its default stream. */
export interface Stream {
  readonly device: string;
  readonly id: number;
}

/** A storage argument: a tensor. */
export type Storage = Tensor;

/**
 * Several results: an array whose elements are properties too. A property hides an array member of the same name: `values`
 * of `{ values, indices }` is the tensor. (Its type includes the array member too, because destructuring `[a, b]` needs the
 * element types.)
 */
export type NamedTuple<T extends readonly unknown[], N> = Readonly<N> & T;

/** Optional options with names of Tensor properties: the extra key keeps a tensor from being accepted as options. */
export type Options<O> = O & { readonly [Symbol.dispose]?: never };

/** One overload, called as its schema says, and the schema. */
export type RawOp<F> = F & { readonly schema: string };
