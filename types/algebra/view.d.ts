/** The same elements in another shape: view, flatten, permute, expand and similar ops. */
import type { Tensor } from '../../lib/tensor/tensor';
import type { Int, Shape } from '../base';
import type {
  AnyDim,
  Differing,
  Equal,
  Known,
  Late,
  Mark,
  Marks,
  MinusOne,
  NoParameter,
  One,
  Refused,
  Settled,
  ShapeError,
  ShapeOf,
  Shown,
} from './core';
import type {
  Anonymous,
  Before,
  DimAt,
  From,
  Front,
  IndexOf,
  Inserted,
  Last,
  PlaceOf,
  Replaced,
  Rest,
  SizesOf,
  Without,
} from './dims';
import type { Product, ProductOf, Quotient, Remainder } from './number';

/** The product of the literals in a list of sizes, and the other sizes, without -1. */
type Factors<S extends Shape, Literal extends number = 1, Others extends Shape = []> = FactorsOf<
  Marks<S>,
  Literal,
  Others
>;
type FactorsOf<M extends readonly Mark[], Literal extends number, Others extends Shape> = M extends readonly [
  infer X extends Mark,
  ...infer R extends readonly Mark[],
]
  ? X extends MinusOne
    ? FactorsOf<R, Literal, Others>
    : X extends AnyDim
      ? FactorsOf<R, Literal, [...Others, number]>
      : X extends NoParameter
        ? FactorsOf<R, Product<Literal, X['dim']>, Others>
        : FactorsOf<R, Literal, [...Others, X['dim']]>
  : [Literal, Others];

/** The size for -1: the remaining elements. */
type Inferred<From extends [number, Shape], To extends [number, Shape]> = To[1] extends []
  ? From[1] extends []
    ? Quotient<From[0], To[0]>
    : From[1] extends [infer Only extends number]
      ? Equal<From[0], To[0]> extends true
        ? Only
        : number
      : number
  : Equal<From[1], To[1]> extends true
    ? Quotient<From[0], To[0]>
    : number;

type Filled<Sizes extends Shape, X extends number> = FilledMarks<Marks<Sizes>, X>;
type FilledMarks<M extends readonly Mark[], X extends number> = M extends readonly [
  infer Y extends Mark,
  ...infer R extends readonly Mark[],
]
  ? [Y extends MinusOne ? X : Y['dim'], ...FilledMarks<R, X>]
  : [];

/** Whether -1 is among the sizes; 'twice' where it is there again. */
type HasMinusOne<Sizes extends Shape> = HasMinusOneMark<Marks<Sizes>>;
type HasMinusOneMark<M extends readonly Mark[]> = M extends readonly [
  infer X extends Mark,
  ...infer R extends readonly Mark[],
]
  ? X extends MinusOne
    ? HasMinusOneMark<R> extends false
      ? true
      : 'twice'
    : HasMinusOneMark<R>
  : false;

type Differs<
  S extends Shape,
  Sizes extends Shape,
  A extends number,
> = `shape ${Shown<S>} has ${A} elements, which ${Shown<Sizes>} cannot have`;

/** Elements are compared where all sizes are literals, but for the same type parameters on both sides. */
type Viewed<S extends Shape, Sizes extends Shape> =
  Factors<S> extends infer F extends [number, Shape]
    ? Factors<Sizes> extends infer T extends [number, Shape]
      ? HasMinusOne<Sizes> extends true
        ? [F[1], T[1]] extends [[], []]
          ? Remainder<F[0], T[0]> extends 0
            ? Filled<Sizes, Quotient<F[0], T[0]>>
            : number extends Remainder<F[0], T[0]>
              ? Filled<Sizes, number>
              : ShapeError<Differs<S, Sizes, F[0]>>
          : Filled<Sizes, Inferred<F, T>>
        : [F[1], T[1]] extends [[], []]
          ? Equal<F[0], T[0]> extends true
            ? Sizes
            : ShapeError<Differs<S, Sizes, F[0]>>
          : Sizes
      : never
    : never;

type ViewOf<T extends Tensor, Sizes> =
  SizesOf<Sizes> extends [...infer L extends Shape]
    ? number extends L['length']
      ? Shape
      : HasMinusOne<L> extends 'twice'
        ? ShapeError<`-1 is there twice in ${Shown<L>}`>
        : Known<T> extends true
          ? Viewed<ShapeOf<T>, L>
          : HasMinusOne<L> extends true
            ? Filled<L, number>
            : L
    : Shape;

/** view and reshape. */
export type View<T extends Tensor, Sizes> = Settled<ViewOf<T, Sizes>>;
export type Views<T extends Tensor, Sizes> = Refused<ViewOf<T, Sizes>>;

/** An index of a dimension, or `Wrong`, or `Unknown`. */
type Located<I, Use, Unknown> = I extends ShapeError<string> ? I : number extends I ? Unknown : Use;

type FlattenFrom<S extends Shape, Start, End> = S extends []
  ? [1]
  : IndexOf<S, Start> extends infer A
    ? IndexOf<S, End> extends infer B
      ? Located<A, Located<B, Flattened<S, A, B>, Shape>, Shape>
      : never
    : never;

/** The dimensions from A to B, both included, as one. */
type Flattened<S extends Shape, A, B> = [...Before<S, A>, ProductOf<Between<S, A, B>>, ...Rest<From<S, B>>];
type Between<S extends Shape, A, B> = From<[...Before<S, B>, DimAt<S, B>], A>;

export type FlattenOf<T extends Tensor, Start, End> =
  Known<T> extends true ? FlattenFrom<ShapeOf<T>, Start, End> : [Start, End] extends [0, -1] ? [number] : Shape;
export type Flatten<T extends Tensor, Start, End> = Settled<FlattenOf<T, Start, End>>;
export type Flattens<T extends Tensor, Start, End> = Refused<FlattenOf<T, Start, End>>;

type UnsqueezeFrom<S extends Shape, Dim> = S extends unknown
  ? PlaceOf<S, Dim> extends infer I
    ? Located<I, Inserted<S, I, 1>, [...Anonymous<S>, number]>
    : never
  : never;
type UnsqueezeOf<T extends Tensor, Dim> = Known<T> extends true ? UnsqueezeFrom<ShapeOf<T>, Dim> : Shape;
export type Unsqueeze<T extends Tensor, Dim> = Settled<UnsqueezeOf<T, Dim>>;
export type Unsqueezes<T extends Tensor, Dim> = Refused<UnsqueezeOf<T, Dim>>;

/** Without the dimensions of size 1; which those are must be known of all. */
type SqueezedAll<M extends readonly Mark[], Out extends Shape = []> = M extends readonly [
  infer X extends Mark,
  ...infer R extends readonly Mark[],
]
  ? X extends One
    ? SqueezedAll<R, Out>
    : X extends AnyDim
      ? Shape
      : X extends NoParameter
        ? SqueezedAll<R, [...Out, X['dim']]>
        : Shape
  : Out;

type MarkAt<M extends readonly Mark[], I> = I extends keyof M ? M[I] : never;

type SqueezedAt<S extends Shape, I, X> = X extends One
  ? Without<S, I>
  : X extends AnyDim
    ? Shape
    : X extends NoParameter
      ? S
      : Shape;

type SqueezeFrom<S extends Shape, Dim> = S extends []
  ? Located<IndexOf<S, Dim>, [], []>
  : IndexOf<S, Dim> extends infer I
    ? Located<I, SqueezedAt<S, I, MarkAt<Marks<S>, I>>, Shape>
    : never;
type SqueezeOf<T extends Tensor, Dim> = Known<T> extends true ? SqueezeFrom<ShapeOf<T>, Dim> : Shape;
export type SqueezeAll<T extends Tensor> = Known<T> extends true ? SqueezedAll<Marks<ShapeOf<T>>> : Shape;
export type Squeeze<T extends Tensor, Dim> = Settled<SqueezeOf<T, Dim>>;
export type Squeezes<T extends Tensor, Dim> = Refused<SqueezeOf<T, Dim>>;

type TransposeFrom<S extends Shape, A, B> = S extends []
  ? []
  : IndexOf<S, A> extends infer I
    ? IndexOf<S, B> extends infer J
      ? Located<I, Located<J, Replaced<Replaced<S, I, DimAt<S, J>>, J, DimAt<S, I>>, Anonymous<S>>, Anonymous<S>>
      : never
    : never;
type TransposeOf<T extends Tensor, A, B> = Known<T> extends true ? TransposeFrom<ShapeOf<T>, A, B> : Shape;
export type Transpose<T extends Tensor, A, B> = Settled<TransposeOf<T, A, B>>;
export type Transposes<T extends Tensor, A, B> = Refused<TransposeOf<T, A, B>>;

/** T, and t() of at most two dimensions. */
export type Turned<S extends Shape> = S extends [infer A extends number, infer B extends number]
  ? [B, A]
  : S extends [infer A extends number]
    ? [A]
    : S extends []
      ? []
      : S extends [infer A extends number, ...infer Rest extends Shape]
        ? [...Turned<Rest>, A]
        : Shape;
export type Turns<T extends Tensor> =
  Known<T> extends true
    ? ShapeOf<T> extends readonly [unknown, unknown, unknown, ...unknown[]]
      ? ShapeError<`shape ${Shown<ShapeOf<T>>} has more than 2 dimensions`>
      : unknown
    : unknown;
/** mT, adjoint: the last two. */
export type TurnedEnd<S extends Shape> = S extends [
  ...infer F extends Shape,
  infer A extends number,
  infer B extends number,
]
  ? [...F, B, A]
  : Shape;
export type TurnedLast<T extends Tensor> = Known<T> extends true ? TurnedEnd<ShapeOf<T>> : Shape;
/** The rows of the first dimension. */
export type RowOf<S extends Shape> = S extends [unknown, ...infer R extends Shape] ? R : Shape;

type Permuted<S extends Shape, Dims, Out extends Shape = [], Seen = never> = Dims extends readonly [infer D, ...infer R]
  ? IndexOf<S, D> extends infer I
    ? I extends ShapeError<string>
      ? I
      : number extends I
        ? Anonymous<S>
        : [I] extends [Seen]
          ? ShapeError<`dimension ${D & number} is there twice`>
          : Permuted<S, R, [...Out, DimAt<S, I>], Seen | I>
    : never
  : Dims extends readonly []
    ? Out['length'] extends S['length']
      ? Out
      : ShapeError<`shape ${Shown<S>} has ${S['length']} dimensions, ${Out['length']} are given`>
    : Anonymous<S>;
type PermuteOf<T extends Tensor, Dims> = Known<T> extends true ? Permuted<ShapeOf<T>, Dims> : Shape;
export type Permute<T extends Tensor, Dims> = Settled<PermuteOf<T, Dims>>;
export type Permutes<T extends Tensor, Dims> = Refused<PermuteOf<T, Dims>>;

/** expand: from the last one, a dimension of 1 takes the size, -1 keeps it. */
type ExpandedDim<X extends Mark, Y extends Mark> = Y extends MinusOne
  ? [X['dim']]
  : Y extends AnyDim
    ? [number]
    : X['same'] extends Y['as']
      ? [X['dim']]
      : X extends One
        ? [Y['dim']]
        : X extends AnyDim
          ? [Y['dim']]
          : Differing<X, Y>;
type Expanded<
  M extends readonly Mark[],
  N extends readonly Mark[],
  Whole extends [Shape, Shape],
  Out extends Shape = [],
> = N extends readonly [...infer NF extends readonly Mark[], infer Y extends Mark]
  ? M extends readonly [...infer MF extends readonly Mark[], infer X extends Mark]
    ? ExpandedDim<X, Y> extends [infer D extends number]
      ? Expanded<MF, NF, Whole, [D, ...Out]>
      : ShapeError<`shape ${Shown<Whole[0]>} does not expand to ${Shown<Whole[1]>}: ${X['dim']} is not ${Y['dim']}`>
    : Expanded<M, NF, Whole, [Y['dim'], ...Out]>
  : M extends readonly []
    ? Out
    : ShapeError<`shape ${Shown<Whole[0]>} does not expand to ${Shown<Whole[1]>}: it has more dimensions`>;
type ExpandOf<T extends Tensor, Sizes> =
  SizesOf<Sizes> extends [...infer L extends Shape]
    ? number extends L['length']
      ? Shape
      : Known<T> extends true
        ? Expanded<Marks<ShapeOf<T>>, Marks<L>, [ShapeOf<T>, L]>
        : HasMinusOne<L> extends false
          ? L
          : Filled<L, number>
    : Shape;
export type Expand<T extends Tensor, Sizes> = Settled<ExpandOf<T, Sizes>>;
export type Expands<T extends Tensor, Sizes> = Refused<ExpandOf<T, Sizes>>;

/** repeat: times for each dimension, new ones first. */
type Repeated<S extends Shape, Times extends Shape, Out extends Shape = []> = Times extends [
  ...infer F extends Shape,
  infer N extends number,
]
  ? S extends []
    ? Repeated<[], F, [N, ...Out]>
    : Repeated<Front<S>, F, [Product<Last<S>, N>, ...Out]>
  : S extends []
    ? Out
    : ShapeError<`fewer repeats than dimensions`>;
type RepeatOf<T extends Tensor, Times> =
  SizesOf<Times> extends [...infer L extends Shape]
    ? number extends L['length']
      ? Shape
      : Known<T> extends true
        ? Repeated<ShapeOf<T>, L>
        : Shape
    : Shape;
export type Repeat<T extends Tensor, Times> = Settled<RepeatOf<T, Times>>;
export type Repeats<T extends Tensor, Times> = Refused<RepeatOf<T, Times>>;

/** unflatten: a dimension becomes several. */
type UnflattenFrom<S extends Shape, Dim, Sizes> = S extends unknown
  ? IndexOf<S, Dim> extends infer I
    ? Located<I, SplitInto<S, I, SizesOf<Sizes>>, Shape>
    : never
  : never;
type SplitInto<S extends Shape, I, Sizes extends Shape> = number extends Sizes['length']
  ? Shape
  : Viewed<Late<S, [DimAt<S, I>]>, Sizes> extends infer R
    ? R extends [...infer L extends Shape]
      ? [...Before<S, I>, ...L, ...Rest<From<S, I>>]
      : R
    : never;
export type UnflattenOf<T extends Tensor, Dim, Sizes> =
  Known<T> extends true ? UnflattenFrom<ShapeOf<T>, Dim, Sizes> : Shape;
export type Unflatten<T extends Tensor, Dim, Sizes> = Settled<UnflattenOf<T, Dim, Sizes>>;
export type Unflattens<T extends Tensor, Dim, Sizes> = Refused<UnflattenOf<T, Dim, Sizes>>;

/** select, narrow: one dimension goes, or gets a size. */
type SelectFrom<S extends Shape, Dim> = S extends []
  ? ShapeError<'select needs at least 1 dimension'>
  : IndexOf<S, Dim> extends infer I
    ? Located<I, Without<S, I>, Shape>
    : never;
type SelectOf<T extends Tensor, Dim> = Known<T> extends true ? SelectFrom<ShapeOf<T>, Dim> : Shape;
export type Select<T extends Tensor, Dim> = Settled<SelectOf<T, Dim>>;
export type Selects<T extends Tensor, Dim> = Refused<SelectOf<T, Dim>>;

type ResizeFrom<S extends Shape, Dim, Size> = S extends []
  ? ShapeError<'it needs at least 1 dimension'>
  : IndexOf<S, Dim> extends infer I
    ? Located<I, Replaced<S, I, Size extends number ? Size : number>, Anonymous<S>>
    : never;
type ResizeOf<T extends Tensor, Dim, Size> = Known<T> extends true ? ResizeFrom<ShapeOf<T>, Dim, Size> : Shape;
/** One dimension gets another size. */
export type Resize<T extends Tensor, Dim, Size> = Settled<ResizeOf<T, Dim, Size>>;
export type Resizes<T extends Tensor, Dim, Size> = Refused<ResizeOf<T, Dim, Size>>;

/** The arguments of libtorch's slice, by name. */
export interface SliceOptions {
  dim?: Int | undefined;
  start?: Int | null | undefined;
  end?: Int | null | undefined;
  step?: Int | undefined;
}

/**
 * For `x.slice(0, 2)`, the sentence that the compiler shows in the place of a parameter's type.
 * `Last` is inferred, from the second branch.
 */
export type SliceOfArray<Last extends Int, Numbers extends string> = [Last] extends [Int]
  ? `slice(${Numbers}) of an array is x.at(torch.slice(${Numbers})) here: a dimension is first in slice(dim, start, end)`
  : Last;

export {};
