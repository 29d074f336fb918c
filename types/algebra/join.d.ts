/** Lists of tensors: joined into one, and one taken apart. */
import type { Tensor } from '../../lib/tensor/tensor';
import type { DType, Parts, Shape } from '../base';
import type {
  DTypeOf,
  Known,
  Mark,
  Marks,
  Met,
  Refused,
  Settled,
  ShapeError,
  ShapeOf,
  Shown,
  TensorOf,
  Zero,
} from './core';
import type { Anonymous, DimAt, IndexOf, Inserted, PlaceOf, Replaced, SizesOf, Without } from './dims';
import type { Promote } from './dtype';
import type { Difference, QuotientUp, Sum } from './number';

type Tensors = readonly Tensor[];

/** Two shapes that must be the same. */
type Agreed<A extends Shape, B extends Shape, Verb extends string> = A['length'] extends B['length']
  ? AgreedDims<Marks<A>, Marks<B>, [A, B], Verb>
  : ShapeError<`shapes ${Shown<A>} and ${Shown<B>} do not ${Verb}: they have ${A['length']} and ${B['length']} dimensions`>;
export type AgreedDims<
  M extends readonly Mark[],
  N extends readonly Mark[],
  Whole extends [Shape, Shape],
  Verb extends string,
  Out extends Shape = [],
> = M extends readonly [infer X extends Mark, ...infer MR extends readonly Mark[]]
  ? N extends readonly [infer Y extends Mark, ...infer NR extends readonly Mark[]]
    ? Met<X, Y> extends [infer D extends number]
      ? AgreedDims<MR, NR, Whole, Verb, [...Out, D]>
      : ShapeError<`shapes ${Shown<Whole[0]>} and ${Shown<Whole[1]>} do not ${Verb}: ${X['dim']} is not ${Y['dim']}`>
    : Out
  : Out;

/** Two shapes that must be equal except in dimension `I`, whose sizes add up. */
type Joined2<A extends Shape, B extends Shape, I> =
  Agreed<A, Replaced<B, I, DimAt<A, I>>, 'join'> extends infer R
    ? R extends [...infer L extends Shape]
      ? Replaced<L, I, Sum<DimAt<A, I>, DimAt<B, I>>>
      : A['length'] extends B['length']
        ? ClashOf<A, B, I>
        : R
    : never;

/** The message shows the shapes as they are. */
type ClashOf<A extends Shape, B extends Shape, I> =
  FirstClash<Marks<Replaced<A, I, 0>>, Marks<Replaced<B, I, 0>>> extends [
    infer X extends number,
    infer Y extends number,
  ]
    ? ShapeError<`shapes ${Shown<A>} and ${Shown<B>} do not join along dimension ${I & number}: ${X} is not ${Y}`>
    : never;
type FirstClash<M extends readonly Mark[], N extends readonly Mark[]> = M extends readonly [
  infer X extends Mark,
  ...infer MR extends readonly Mark[],
]
  ? N extends readonly [infer Y extends Mark, ...infer NR extends readonly Mark[]]
    ? Met<X, Y> extends [infer _]
      ? FirstClash<MR, NR>
      : [X['dim'], Y['dim']]
    : never
  : never;

type CatShapes<A extends Shape, Others extends Tensors, I> = Others extends readonly [
  infer B extends Tensor,
  ...infer More extends Tensors,
]
  ? Known<B> extends true
    ? IsEmptyStart<B> extends true
      ? CatShapes<A, More, I>
      : Joined2<A, ShapeOf<B>, I> extends infer R
        ? R extends [...infer L extends Shape]
          ? CatShapes<L, More, I>
          : R
        : never
    : CatShapes<Replaced<A, I, number>, More, I>
  : Others extends readonly []
    ? A
    : Replaced<A, I, number>;

/** A tensor of the shape [0], which joins any other. */
type IsEmptyStart<T extends Tensor> = Marks<ShapeOf<T>> extends readonly [Zero] ? true : false;

/** Of each shape of the first, where it can be one of several. */
type CatFrom<S extends Shape, Others extends Tensors, Dim> = S extends unknown
  ? IndexOf<S, Dim> extends infer I
    ? I extends ShapeError<string>
      ? I
      : number extends I
        ? Shape
        : S extends []
          ? ShapeError<'tensors without dimensions do not join'>
          : CatShapes<S, Others, I>
    : never
  : never;

type CatAny<S extends Shape, Dim> = S extends unknown
  ? IndexOf<S, Dim> extends infer I
    ? I extends ShapeError<string>
      ? I
      : number extends I
        ? Shape
        : Replaced<S, I, number>
    : never
  : never;

type CatOf<List, Dim> = List extends readonly [infer A extends Tensor, ...infer Others extends Tensors]
  ? Known<A> extends true
    ? IsEmptyStart<A> extends true
      ? Others extends readonly []
        ? CatFrom<ShapeOf<A>, [], Dim>
        : CatOf<Others, Dim>
      : CatFrom<ShapeOf<A>, Others, Dim>
    : Shape
  : List extends Iterable<infer A extends Tensor>
    ? Known<A> extends true
      ? CatAny<ShapeOf<A>, Dim>
      : Shape
    : Shape;

/** cat. */
export type Cat<List, Dim> = Settled<CatOf<List, Dim>>;
export type Cats<List, Dim> = Refused<CatOf<List, Dim>>;

type StackShapes<A extends Shape, Others extends Tensors> = Others extends readonly [
  infer B extends Tensor,
  ...infer More extends Tensors,
]
  ? Known<B> extends true
    ? Agreed<A, ShapeOf<B>, 'stack'> extends infer R
      ? R extends [...infer L extends Shape]
        ? StackShapes<L, More>
        : R
      : never
    : StackShapes<A, More>
  : A;

type StackAt<R, Dim, Count extends number> = R extends [...infer S extends Shape]
  ? PlaceOf<S, Dim> extends infer I
    ? I extends ShapeError<string>
      ? I
      : number extends I
        ? Shape
        : Inserted<S, I, Count>
    : never
  : R;

type StackOf<List, Dim> = List extends readonly [infer A extends Tensor, ...infer Others extends Tensors]
  ? Known<A> extends true
    ? StackAt<StackShapes<ShapeOf<A>, Others>, Dim, List['length']>
    : Shape
  : List extends Iterable<infer A extends Tensor>
    ? Known<A> extends true
      ? StackAt<ShapeOf<A>, Dim, number>
      : Shape
    : Shape;

export type Stack<List, Dim> = Settled<StackOf<List, Dim>>;
export type Stacks<List, Dim> = Refused<StackOf<List, Dim>>;

/** The dtype of several tensors in one. */
export type PromoteAll<List> = List extends readonly [infer A extends Tensor]
  ? DTypeOf<A>
  : List extends readonly [infer A extends Tensor, infer B extends Tensor, ...infer More extends Tensors]
    ? PromoteAll<[TensorOf<Promote<A, B>, ShapeOf<A>>, ...More]>
    : List extends Iterable<infer A extends Tensor>
      ? DTypeOf<A>
      : DType;

/** Parts that are listed one by one at most. */
type Listed = 32;

/** One tensor for each size along the dimension. */
type PartsOf<D extends DType, S extends Shape, I, Sizes extends Shape> = {
  [K in keyof Sizes]: TensorOf<D, Replaced<S, I, Sizes[K]>>;
};

/** As many times `Size` as fit into `Total`, and what remains; dynamic where that is unknown or many. */
type SizesIn<Total extends number, Size extends number, Out extends Shape = []> = number extends Total | Size
  ? Shape
  : Out['length'] extends Listed
    ? Shape
    : [Difference<Total, Size>] extends [never]
      ? Total extends 0
        ? Out extends []
          ? [0]
          : Out
        : [...Out, Total]
      : Size extends 0
        ? Shape
        : SizesIn<Difference<Total, Size>, Size, [...Out, Size]>;

type SplitBy<D extends DType, S extends Shape, I, Size> =
  I extends ShapeError<string>
    ? Tensor<D>[]
    : number extends I
      ? Tensor<D, Anonymous<S>>[]
      : Size extends number
        ? PartsOf<D, S, I, SizesIn<DimAt<S, I>, Size>>
        : Size extends readonly unknown[]
          ? PartsOf<D, S, I, SizesOf<Size>>
          : PartsOf<D, S, I, Shape>;
type SplitEach<D extends DType, S extends Shape, Size, Dim> = S extends unknown
  ? SplitBy<D, S, IndexOf<S, Dim>, Size>
  : never;

/** Parts of unknown shapes. */
export type AnyParts<T extends Tensor> = Parts<Tensor<DTypeOf<T>>>;
/** split: by a size, or by a list of sizes. */
export type Split<T extends Tensor, Size, Dim> =
  Known<T> extends true ? PartsIn<SplitEach<DTypeOf<T>, ShapeOf<T>, Size, Dim>> : AnyParts<T>;
/** chunk: a number of parts of equal size, except the last. */
export type Chunk<T extends Tensor, Count, Dim> =
  Known<T> extends true ? PartsIn<ChunkEach<DTypeOf<T>, ShapeOf<T>, Count, Dim>> : AnyParts<T>;
type ChunkEach<D extends DType, S extends Shape, Count, Dim> = S extends unknown
  ? SplitBy<D, S, IndexOf<S, Dim>, ChunkSize<S, IndexOf<S, Dim>, Count>>
  : never;
/** A list of unknown length as parts; a tuple stays. */
type PartsIn<L> = L extends readonly (infer E)[] ? (number extends L['length'] ? Parts<E> : L) : L;
type ChunkSize<S extends Shape, I, Count> = Count extends number ? QuotientUp<DimAt<S, I>, Count> : number;

/** unbind: a tensor for each index of the dimension. */
export type Unbind<T extends Tensor, Dim> =
  Known<T> extends true ? PartsIn<UnbindEach<DTypeOf<T>, ShapeOf<T>, Dim>> : AnyParts<T>;
type UnbindEach<D extends DType, S extends Shape, Dim> = S extends unknown ? UnbindAt<D, S, IndexOf<S, Dim>> : never;
type UnbindAt<D extends DType, S extends Shape, I> =
  I extends ShapeError<string>
    ? Tensor<D>[]
    : number extends I
      ? Tensor<D>[]
      : Times<Rows<DimAt<S, I>>, TensorOf<D, Without<S, I>>>;
/** As many ones as a dimension has rows: none for 0, of which a split is one part. */
type Rows<Size extends number> = Size extends 0 ? [] : SizesIn<Size, 1>;
type Times<L extends Shape, X> = { [K in keyof L]: X };

/** Whether the sizes of a split add up to the dimension. */
export type Splits<T extends Tensor, Size, Dim> = Known<T> extends true ? SplitsEach<ShapeOf<T>, Size, Dim> : unknown;
type SplitsEach<S extends Shape, Size, Dim> = S extends unknown
  ? IndexOf<S, Dim> extends infer I
    ? I extends ShapeError<string>
      ? I
      : number extends I
        ? unknown
        : Size extends readonly number[]
          ? AddsUp<SizesTotal<SizesOf<Size>>, DimAt<S, I>>
          : unknown
    : never
  : never;
type SizesTotal<S extends Shape, Total extends number = 0> = S extends [
  infer X extends number,
  ...infer R extends Shape,
]
  ? SizesTotal<R, Sum<Total, X>>
  : S extends []
    ? Total
    : number;
type AddsUp<A extends number, B extends number> =
  Marks<[A, B]> extends [infer X extends Mark, infer Y extends Mark]
    ? Met<X, Y> extends [infer _]
      ? unknown
      : ShapeError<`the sizes add up to ${A}, the dimension has ${B}`>
    : unknown;

export {};
