/** What arguments must be besides a tensor or a number: `unknown`, or the error that says why they are refused. */
import type { Tensor } from '../../lib/tensor/tensor';
import type { Int, Shape } from '../base';
import type { DTypeOf, Equal, FirstOf, Known, Late, Marks, ShapeError, ShapeOf, Shown } from './core';
import type { DimAt, IndexOf, Without } from './dims';
import type { DefaultDType, NumberDType } from './dtype';
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

/** dtypes of which a statement holds. Looked up and compared for identity, so that a dtype that is a type parameter passes. */
interface Whole {
  [dtype: string]: 'yes' | 'no';
  bool: 'yes';
  uint8: 'yes';
  int8: 'yes';
  int16: 'yes';
  int32: 'yes';
  int64: 'yes';
  uint16: 'yes';
  uint32: 'yes';
  uint64: 'yes';
}
interface Fractional {
  [dtype: string]: 'yes' | 'no';
  float16: 'yes';
  bfloat16: 'yes';
  float32: 'yes';
  float64: 'yes';
  complex32: 'yes';
  complex64: 'yes';
  complex128: 'yes';
}
interface NoClasses extends Fractional {
  bool: 'yes';
  int8: 'yes';
  int16: 'yes';
  int32: 'yes';
}
interface NoMask extends Fractional {
  int8: 'yes';
  int16: 'yes';
  int32: 'yes';
  int64: 'yes';
}

/** The input of an op that does not convert integers. */
export type Floating<T extends Tensor> =
  Equal<Whole[DTypeOf<T>], Late<T, 'yes'>> extends true
    ? ShapeError<`expected a floating-point dtype, got ${DTypeOf<T>}`>
    : unknown;

/** The same, unless the op is told its dtype. */
export type FloatingUnless<T extends Tensor, Option> = [Option] extends [null] ? Floating<T> : unknown;

/** An operand of an op that writes its result into `T`: an integer tensor does not take the place of a float. */
export type IntoDType<T extends Tensor, Operand extends Tensor> =
  Equal<Fractional[DTypeOf<Operand>], Late<Operand, 'yes'>> extends true ? Floating<T> : unknown;
/** The same for a number with a fraction. */
export type IntoNumber<T extends Tensor, N> =
  Equal<NumberDType<N>, Late<N, DefaultDType>> extends true ? Floating<T> : unknown;

/** A mask: a tensor of bool, for which uint8 may stand. */
export type AsMask<T extends Tensor> =
  Equal<NoMask[DTypeOf<T>], Late<T, 'yes'>> extends true
    ? ShapeError<`expected a mask of bool, got ${DTypeOf<T>}`>
    : unknown;

/** Indices of classes. */
type AsClasses<T extends Tensor> =
  Equal<NoClasses[DTypeOf<T>], Late<T, 'yes'>> extends true
    ? ShapeError<`expected classes of int64, got ${DTypeOf<T>}: pass { dtype: 'int64' } where they are made`>
    : unknown;

/** The targets of a loss over classes, which are the input's second dimension: indices, or a weight for each class. */
export type Targets<I extends Tensor, T extends Tensor> =
  Known<I> extends true ? (Known<T> extends true ? TargetsOf<ShapeOf<I>, T> : unknown) : unknown;
type TargetsOf<S extends Shape, T extends Tensor> = ShapeOf<T>['length'] extends S['length']
  ? Fitting<AgreedDims<Marks<S>, Marks<ShapeOf<T>>, [S, ShapeOf<T>], 'fit'>>
  : WithoutClasses<S>['length'] extends ShapeOf<T>['length']
    ? FirstOf<Fitting<AgreedDims<Marks<WithoutClasses<S>>, Marks<ShapeOf<T>>, [S, ShapeOf<T>], 'fit'>>, AsClasses<T>>
    : ShapeError<`shapes ${Shown<S>} and ${Shown<ShapeOf<T>>} do not fit: they have ${S['length']} and ${ShapeOf<T>['length']} dimensions`>;
type WithoutClasses<S extends Shape> = S extends [unknown] ? [] : Without<S, 1>;
type Fitting<R> = R extends ShapeError<infer Message> ? ShapeError<Message> : unknown;

export {};
