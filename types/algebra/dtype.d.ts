/** Element types of results. */
import type { Tensor } from '../../lib/tensor/tensor';
import type { Complex, DType, DTypeAliases } from '../base';
import type { DTypeOf, Equal, ShapeError, ShapeOf } from './core';
import type { Promotions } from './promotion';

/** The dtype of tensors made from numbers, unless the program calls `setDefaultDtype`. */
export type DefaultDType = 'float32';

interface Categories {
  bool: 'bool';
  uint8: 'integer';
  int8: 'integer';
  int16: 'integer';
  int32: 'integer';
  int64: 'integer';
  uint16: 'integer';
  uint32: 'integer';
  uint64: 'integer';
  float16: 'float';
  bfloat16: 'float';
  float32: 'float';
  float64: 'float';
  complex32: 'complex';
  complex64: 'complex';
  complex128: 'complex';
}

type Category<D> = D extends keyof Categories ? Categories[D] : 'other';

/** Both take part with their full dtype. */
type PromoteTypes<A, B> = A extends keyof Promotions
  ? B extends keyof Promotions[A]
    ? Promotions[A][B]
    : DType
  : DType;

/** Categories, each with those that it yields to. */
interface Yields {
  bool: 'integer' | 'float' | 'complex';
  integer: 'float' | 'complex';
  float: 'complex';
  complex: never;
  other: never;
}

/** The promotion of `A` if `B` counts only by its category: a zero-dimensional tensor, or a number. */
type PromoteWeakly<A, B> =
  Category<B> extends Yields[Category<A>] ? (Category<A> extends 'float' ? ComplexOf<A> : PromoteTypes<A, B>) : A;

/** The complex dtype of real and imaginary parts. */
export type ComplexOf<D> = DType extends D ? DType : ComplexOfEach<D>;
type ComplexOfEach<D> = D extends 'float16'
  ? 'complex32'
  : D extends 'float64'
    ? 'complex128'
    : D extends 'float32' | 'bfloat16'
      ? 'complex64'
      : D;

/** Whether a tensor has dimensions; both where that is not known. */
type Dimensions<S extends readonly number[]> = S extends readonly []
  ? 'none'
  : S extends readonly [unknown, ...unknown[]]
    ? 'some'
    : 'none' | 'some';

/** One combination of dtypes and dimensions. */
type Promoted<A, B, InA, InB> = A extends unknown
  ? B extends unknown
    ? InA extends InB
      ? PromoteTypes<A, B>
      : InA extends 'some'
        ? PromoteWeakly<A, B>
        : PromoteWeakly<B, A>
    : never
  : never;

/** The dtype of an op of two tensors. */
export type Promote<A extends Tensor, B extends Tensor> =
  Equal<DTypeOf<A>, DTypeOf<B>> extends true
    ? DTypeOf<A>
    : DType extends DTypeOf<A> | DTypeOf<B>
      ? DType
      : Promoted2<DTypeOf<A>, DTypeOf<B>, Dimensions<ShapeOf<A>>, Dimensions<ShapeOf<B>>>;

/** The dtype of an op of three tensors: those with dimensions count in full, what the others give together by its category. */
export type Promote3<A extends Tensor, B extends Tensor, C extends Tensor> = DType extends
  | DTypeOf<A>
  | DTypeOf<B>
  | DTypeOf<C>
  ? DType
  : PromotedOf<
      [DTypeOf<A>, DTypeOf<B>, DTypeOf<C>],
      [Dimensions<ShapeOf<A>>, Dimensions<ShapeOf<B>>, Dimensions<ShapeOf<C>>]
    >;

/** A list of dtypes; each has dimensions ('some') or not. `In` and `Out` are the dtypes of those with and without so far. */
type PromotedOf<L extends readonly unknown[], Dims extends readonly unknown[], In = never, Out = never> = L extends [
  infer D,
  ...infer Rest,
]
  ? Dims extends [infer Has, ...infer More]
    ? Has extends 'some'
      ? PromotedOf<Rest, More, PromoteWith<In, D>, Out>
      : PromotedOf<Rest, More, In, PromoteWith<Out, D>>
    : never
  : [In] extends [never]
    ? Out
    : [Out] extends [never]
      ? In
      : PromoteNumberTo<In, Out>;
type PromoteWith<A, B> = [A] extends [never]
  ? B
  : A extends unknown
    ? B extends unknown
      ? PromoteTypes<A, B>
      : never
    : never;

type Promoted2<A, B, InA, InB> = InA extends unknown ? (InB extends unknown ? Promoted<A, B, InA, InB> : never) : never;

/** The dtype of a number beside a tensor: a number that may be an integer or not is both. */
export type NumberDType<N> = N extends boolean
  ? 'bool'
  : N extends bigint
    ? 'int64'
    : N extends number
      ? number extends N
        ? 'int64' | DefaultDType
        : `${N}` extends `${bigint}`
          ? 'int64'
          : DefaultDType
      : N extends Complex
        ? 'complex64'
        : DType;

/** The dtype of an op of a tensor and a number. */
export type PromoteNumber<A extends Tensor, N> =
  DType extends DTypeOf<A> ? DType : PromoteNumberTo<DTypeOf<A>, NumberDType<N>>;

type PromoteNumberTo<A, B> = A extends unknown ? (B extends unknown ? PromoteWeakly<A, B> : never) : never;

/** Ops without integer results, such as sin: integers and booleans give the default dtype. */
export type FloatOf<D> = DType extends D ? DType : D extends unknown ? FloatOfEach<D> : never;
type FloatOfEach<D> = Category<D> extends 'bool' | 'integer' ? DefaultDType : D;

/** Sums of integers and booleans are int64. */
export type SumOf<D> = DType extends D ? DType : D extends unknown ? SumOfEach<D> : never;
type SumOfEach<D> = Category<D> extends 'bool' | 'integer' ? 'int64' : D;

/** The dtype of absolute values, real and imaginary parts. */
export type RealOf<D> = DType extends D ? DType : RealOfEach<D>;
type RealOfEach<D> = D extends 'complex64'
  ? 'float32'
  : D extends 'complex128'
    ? 'float64'
    : D extends 'complex32'
      ? 'float16'
      : D;

/** all and any: bool, but uint8 stays. */
export type TruthOf<D> = D extends 'uint8' ? 'uint8' : 'bool';

/** The option `dtype`, or what the op gives without it. */
export type OptionOr<Option, D> = [Option] extends [null | undefined] ? D : Named<Option, D>;
/** (`Given`, not `Option` itself, or the compiler would infer the option from what a caller does with the result.) */
type Named<Option, D> = Option extends infer Given extends DType
  ? Given
  : Option extends keyof DTypeAliases
    ? DTypeAliases[Option]
    : D;

/** The dtype that an argument names: 'float32' for 'float'. */
export type DTypeNamed<Given> = Named<Given, DType>;

/**
 * One element of the dtype as JavaScript has it, and a number where the dtype is not known. An int64 that a number cannot
 * hold comes back as bigint all the same: docs/types.md says why the type does not.
 */
export type ElementOf<D> = DType extends D ? number : ElementOfEach<D>;
type ElementOfEach<D> = D extends 'bool'
  ? boolean
  : D extends 'complex32' | 'complex64' | 'complex128'
    ? Complex
    : number;

/** The typed array that holds the elements; complex ones as real and imaginary parts in turn. */
export type ArrayOf<D> = D extends 'float64' | 'complex128'
  ? Float64Array
  : D extends 'int8'
    ? Int8Array
    : D extends 'uint8' | 'bool'
      ? Uint8Array
      : D extends 'int16'
        ? Int16Array
        : D extends 'int32'
          ? Int32Array
          : D extends 'int64'
            ? BigInt64Array
            : D extends 'uint16'
              ? Uint16Array
              : D extends 'uint32'
                ? Uint32Array
                : D extends 'uint64'
                  ? BigUint64Array
                  : Float32Array;

/** Of two numbers that may be missing, the one that says more of the dtype. */
export type NumberOf<A, B> = A extends null | undefined
  ? B extends null | undefined
    ? never
    : B
  : A | Exclude<B, null | undefined>;

/** Division with a rounding mode keeps integers; true division does not. */
export type Rounded<Mode, D> = Mode extends null ? FloatOf<D> : D;

/** floatPower computes in double precision. */
export type DoubleOf<D> = Category<D> extends 'complex' ? 'complex128' : 'float64';

/** full: as in torch.tensor, the dtype follows the value's JS type. */
export type FillDType<V> = V extends number ? DefaultDType : V extends Complex ? 'complex64' : NumberDType<V>;

/** linspace and logspace: the dtype of floats, complex if one of the ends is. */
export type SpaceDType<Start, End> = Start extends Complex
  ? 'complex64'
  : End extends Complex
    ? 'complex64'
    : DefaultDType;

/** A tensor between two others, which may be missing. */
export type BetweenDType<T extends Tensor, Before, After> = Before extends Tensor
  ? After extends Tensor
    ? Promote3<T, Before, After>
    : Promote<T, Before>
  : After extends Tensor
    ? Promote<T, After>
    : DTypeOf<T>;

/** arange: integers give int64. */
export type ArangeDType<V> =
  DefaultDType extends NumberDType<V> ? (NumberDType<V> extends DefaultDType ? DefaultDType : ArangeMixed<V>) : 'int64';
type ArangeMixed<V> = number extends V ? 'int64' | DefaultDType : DefaultDType;

/** Refuses operands of two dtypes where libtorch does. */
export type SameDType<A extends Tensor, B extends Tensor> =
  Equal<DTypeOf<A>, DTypeOf<B>> extends true
    ? unknown
    : [DTypeOf<A> & DTypeOf<B>] extends [never]
      ? ShapeError<`expected ${DTypeOf<A>} on both sides, got ${DTypeOf<B>}`>
      : unknown;

export {};
