/** JavaScript data: the dtype and shape of torch.tensor's result, and the JavaScript types of tensors. */
import type { TensorData, TypedArray } from '../../lib/elements/create';
import type { NestedArray } from '../../lib/tensor/read';
import type { Complex, DType, Shape } from '../base';
import type { ShapeError } from './core';
import type { DefaultDType } from './dtype';

interface ArrayDTypes {
  Int8Array: 'int8';
  Uint8Array: 'uint8';
  Uint8ClampedArray: 'uint8';
  Int16Array: 'int16';
  Int32Array: 'int32';
  Uint16Array: 'uint16';
  Uint32Array: 'uint32';
  BigUint64Array: 'uint64';
  Float32Array: 'float32';
  Float64Array: 'float64';
  BigInt64Array: 'int64';
}

/** Any data, or the result of toArray for any tensor: nested without limit. */
type Endless<T> = TensorData extends T ? true : NestedArray extends T ? true : false;

/** The dtype follows the JS type, never the values. */
export type DataDType<T> =
  Endless<T> extends true
    ? DType
    : T extends TypedArray
      ? T[typeof Symbol.toStringTag] extends keyof ArrayDTypes
        ? ArrayDTypes[T[typeof Symbol.toStringTag]]
        : DType
      : T extends readonly []
        ? DefaultDType
        : T extends readonly (infer E)[]
          ? DataDType<E>
          : T extends number
            ? DefaultDType
            : T extends bigint
              ? 'int64'
              : T extends boolean
                ? 'bool'
                : T extends Complex
                  ? 'complex64'
                  : DType;

export type DataShape<T> =
  Endless<T> extends true
    ? Shape
    : T extends TypedArray
      ? [number]
      : T extends readonly []
        ? [0]
        : T extends readonly unknown[]
          ? [T['length'], ...DataShape<T[0]>]
          : [];

/** Rows of several lengths are refused where they are written out. */
export type Even<T> = T extends readonly (readonly unknown[])[]
  ? number extends T[number]['length']
    ? unknown
    : T[0] extends readonly unknown[]
      ? T[number]['length'] extends T[0]['length']
        ? unknown
        : ShapeError<`rows of ${Exclude<T[number]['length'], T[0]['length']>} and ${T[0]['length']} elements`>
      : unknown
  : unknown;

/** Nested arrays of elements; the element itself without dimensions. */
export type Nested<E, S extends Shape> = S extends []
  ? E
  : S extends [unknown, ...infer Rest extends Shape]
    ? Nested<E, Rest>[]
    : NestedArray;

export {};
