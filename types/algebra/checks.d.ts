/** What arguments must be besides a tensor or a number: `unknown`, or the error that says why they are refused. */
import type { Tensor } from '../../lib/tensor/tensor';
import type { Int, Shape } from '../base';
import type { DTypeOf, FirstOf, Known, Marks, ShapeError, ShapeOf, Shown } from './core';
import type { DimAt, IndexOf, Without } from './dims';
import type { AgreedDims } from './join';
import type { Difference } from './number';

/**
 * The sizes of a new tensor. Written out, as lists that are type parameters are to pass: the compiler lets one pass where no
 * value could make the condition true, and a template that begins with a minus is not a template of any number.
 */
export type Sizes<L extends readonly Int[]> = `${L[0]}` extends `-${string}`
  ? Negative<L[0]>
  : `${L[1]}` extends `-${string}`
    ? Negative<L[1]>
    : `${L[2]}` extends `-${string}`
      ? Negative<L[2]>
      : `${L[3]}` extends `-${string}`
        ? Negative<L[3]>
        : unknown;
type Negative<N extends Int> = ShapeError<`size ${N} is negative`>;

/** The number of parts, or the size of each. */
export type Positive<N, Word extends string> = N extends number
  ? number extends N
    ? unknown
    : `${N}` extends '0' | `-${string}`
      ? ShapeError<`${Word} ${N} is not positive`>
      : unknown
  : unknown;

/** A number of elements, at most the size of the dimension. */
export type Within<T extends Tensor, K, Dim> =
  Known<T> extends true ? WithinDim<DimAt<ShapeOf<T>, IndexOf<ShapeOf<T>, Dim>>, K> : unknown;
type WithinDim<Size extends number, K> = K extends number
  ? number extends Size | K
    ? unknown
    : [Difference<Size, K>] extends [never]
      ? ShapeError<`${K} elements of a dimension of ${Size}`>
      : unknown
  : unknown;

type NoIndex = 'float16' | 'bfloat16' | 'float32' | 'float64' | 'complex32' | 'complex64' | 'complex128' | 'bool';

/** Tensors of indices. */
export type AsIndices<T extends Tensor> =
  DTypeOf<T> extends NoIndex
    ? ShapeError<`expected indices of int64 or int32, got ${DTypeOf<T>}: pass { dtype: 'int64' } where they are made`>
    : unknown;

/** The targets of a loss over classes, which are the input's second dimension: indices, or a weight for each class. */
export type Targets<I extends Tensor, T extends Tensor> =
  Known<I> extends true ? (Known<T> extends true ? TargetsOf<ShapeOf<I>, T> : unknown) : unknown;
type TargetsOf<S extends Shape, T extends Tensor> = ShapeOf<T>['length'] extends S['length']
  ? Fitting<AgreedDims<Marks<S>, Marks<ShapeOf<T>>, [S, ShapeOf<T>], 'fit'>>
  : WithoutClasses<S>['length'] extends ShapeOf<T>['length']
    ? FirstOf<Fitting<AgreedDims<Marks<WithoutClasses<S>>, Marks<ShapeOf<T>>, [S, ShapeOf<T>], 'fit'>>, AsIndices<T>>
    : ShapeError<`shapes ${Shown<S>} and ${Shown<ShapeOf<T>>} do not fit: they have ${S['length']} and ${ShapeOf<T>['length']} dimensions`>;
type WithoutClasses<S extends Shape> = S extends [unknown] ? [] : Without<S, 1>;
type Fitting<R> = R extends ShapeError<infer Message> ? ShapeError<Message> : unknown;

export {};
