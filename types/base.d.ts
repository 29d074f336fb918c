/** The types that signatures of ops are made of. */
import type { Tensor } from '../lib/tensor';

export type { TensorData } from '../lib/create';

/** An element type. The last nine are of libtorch 2 alone; an older one refuses them (`torch.uint16` is undefined). */
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

/** PyTorch's other names of dtypes. They are accepted wherever a dtype is; a tensor's `dtype` is the dtype's own name. */
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

/** A dtype as a call takes it: 'float' is 'float32'. */
export type DTypeLike = DType | keyof DTypeAliases;

/** The sizes of the dimensions. `number[]` stands for any. */
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

/** A device as a call takes it: a string that the program learns at run time is one too, a literal has to name one. */
export type DeviceLike<D> = string extends D ? D : Device;

/** How elements lie in memory. */
export type Layout = 'strided' | 'sparse_coo' | 'sparse_csr' | 'sparse_csc' | 'sparse_bsr' | 'sparse_bsc' | '_mkldnn';

/** The order of the dimensions in memory. */
export type MemoryFormat = 'contiguous' | 'preserve' | 'channels_last' | 'channels_last_3d';

/** A complex number. */
export interface Complex {
  readonly re: number;
  readonly im: number;
}

/** A number as ops take it: its kind takes part in type promotion. */
export type Scalar = number | bigint | boolean | Complex;

/** An integer; as a result, a bigint stands for what a number cannot hold exactly. */
export type Int = number | bigint;

/** Node's Buffer, where a program has Node's types; else the array that it is. The package's types need none but TypeScript's. */
export type NodeBuffer = typeof globalThis extends { Buffer: { alloc(size: number): infer B extends Uint8Array } }
  ? B
  : Uint8Array;

/** The ReadableStream of the libraries that a program has, of Uint8Arrays. */
export type ByteStream = typeof globalThis extends { ReadableStream: { prototype: infer S } }
  ? S
  : AsyncIterable<Uint8Array>;

/**
 * Bytes that come one after the other: a ReadableStream, a Readable of Node, a Blob or File, the bytes themselves, or any
 * async iterable of Uint8Arrays.
 */
export type ByteSource =
  | { getReader(): unknown }
  | { stream(): { getReader(): unknown } }
  | AsyncIterable<Uint8Array>
  | Uint8Array;

/** A URL object of the libraries that a program has. As a path its scheme is `file:`. */
export type FileUrl = typeof globalThis extends { URL: { prototype: infer U } }
  ? U
  : { readonly href: string; readonly protocol: string };

/** The AbortSignal of the libraries that a program has. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer S } }
  ? S
  : { readonly aborted: boolean };

/** What `torch.finfo` tells of a floating-point dtype. */
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

/** What `torch.iinfo` tells of an integer dtype. */
export interface IInfo {
  readonly dtype: DType;
  readonly bits: number;
  readonly max: Int;
  readonly min: Int;
}

/** Several tensors: any iterable of them, but not a tensor, which is one of its rows. */
export type TensorList<T = Tensor> = Iterable<T> & { readonly storageBytes?: never };

/**
 * Tensors of a number that the types do not know. The first eight are tensors even where `noUncheckedIndexedAccess` would make
 * them `Tensor | undefined`: `const [q, k, v] = x.unbind(0)` is written by those who know how many there are.
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

/** What stands for the bytes behind a tensor: the tensor. */
export type Storage = Tensor;

/**
 * Several results: an array whose elements are properties too. A property hides an array member of the same name: `values`
 * of `{ values, indices }` is the tensor. (Its type says that it is the member as well, or `[a, b]` would not know which of
 * the two has which type.)
 */
export type NamedTuple<T extends readonly unknown[], N> = Readonly<N> & T;

/** Options that are all optional and have names of Tensor's properties: the key keeps a tensor from passing for them. */
export type Options<O> = O & { readonly [Symbol.dispose]?: never };

/** One overload, called as its schema says, and the schema. */
export type RawOp<F> = F & { readonly schema: string };
