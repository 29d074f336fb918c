/** The types of batches. */
import type { DataDType } from '../../types/algebra/data';
import type { DType, Parts, Shape } from '../../types/base';
import type { TypedArray } from '../elements/create';
import type { Tensor } from '../tensor/tensor';

/** Whether nothing is known of a sample. */
type IsUnknown<S> = unknown extends S ? true : false;

type IsUnion<T, All = T> = T extends unknown ? ([All] extends [T] ? false : true) : never;

/** Samples of S as one tensor with a first dimension more. */
type Stacked<D extends DType, S extends Shape> = number extends S['length'] ? Tensor<D> : Tensor<D, [number, ...S]>;

/** What one kind of sample becomes. */
type Batch<S> = S extends string
  ? string[]
  : S extends Tensor<infer D, infer Sizes>
    ? Stacked<D, Sizes>
    : S extends TypedArray
      ? Tensor<DataDType<S>, [number, number]>
      : S extends number | bigint | boolean
        ? Tensor<DataDType<S>, [number]>
        : S extends Map<infer K, infer V>
          ? Map<K, Collated<V>>
          : S extends readonly (infer E)[]
            ? number extends S['length']
              ? Parts<Collated<E>>
              : { -readonly [I in keyof S]: Collated<S[I]> }
            : { -readonly [K in keyof S]: Collated<S[K]> };

/** Tensors of several types are one that has any of their dtypes; which of other forms comes where, the type does not say. */
type Merged<B> = IsUnion<B> extends true ? ([B] extends [Tensor<infer D>] ? Tensor<D> : any) : B;

/**
 * The batch that `defaultCollate` makes of samples of type S: tensors, typed arrays, numbers, bigints and booleans become a
 * tensor, strings a list; arrays, objects and Maps keep their form.
 */
export type Collated<S> = IsUnknown<S> extends true ? any : [S] extends [string] ? S[] : Merged<Batch<S>>;

type AnyFunction = (...args: never[]) => unknown;

/** A sample of type S from a loader with `batchSize: null`: its typed arrays are tensors, also in lists, objects and Maps. */
export type Converted<S> =
  IsUnknown<S> extends true
    ? any
    : S extends Tensor | string | number | bigint | boolean | symbol | AnyFunction | null | undefined
      ? S
      : S extends TypedArray
        ? Tensor<DataDType<S>, [number]>
        : S extends Map<infer K, infer V>
          ? Map<K, Converted<V>>
          : Unchanged<S, { [K in keyof S]: Converted<S[K]> }>;

/** Objects without typed arrays, such as those of the program's classes, keep their type. */
type Unchanged<S, Made> = S extends Made ? S : Made;

/** What TensorDataset makes of its tensors: one row of each. */
export type Rows<T extends readonly Tensor[]> = number extends T['length']
  ? Tensor[]
  : { -readonly [I in keyof T]: T[I] extends Tensor<infer D, infer S> ? Row<D, S> : never };

type Row<D extends DType, S extends Shape> = S extends readonly [number, ...infer Sizes extends Shape]
  ? Tensor<D, Sizes>
  : Tensor<D>;

/** The type of batches where neither a type argument nor `collateFn` says it. */
export interface Unsaid {
  readonly unsaid: never;
}
export type BatchOf<B, Made> =
  IsUnknown<B> extends true ? any : [B] extends [Unsaid] ? ([Unsaid] extends [B] ? Made : B) : B;
