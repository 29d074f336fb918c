/** Reductions: the dimensions that are removed, or kept with size 1. */
import type { Tensor } from '../../lib/tensor/tensor';
import type { Shape } from '../base';
import type { Known, Refused, Settled, ShapeError, ShapeOf } from './core';
import type { IndexOf } from './dims';

/** The indices that a list of dimensions means, as a union; `number` where one is not known, or the first error. */
type IndicesOf<S extends Shape, Dims, Seen = never> = Dims extends readonly [infer D, ...infer Rest]
  ? IndexOf<S, D> extends infer I
    ? I extends ShapeError<string>
      ? I
      : number extends I | Seen
        ? IndicesOf<S, Rest, number>
        : [I] extends [Seen]
          ? ShapeError<`dimension ${D & number} is there twice`>
          : IndicesOf<S, Rest, Seen | I>
    : never
  : Dims extends readonly []
    ? Seen
    : number;

type Kept<S extends Shape, Chosen, Keep, Out extends Shape = [], Index extends unknown[] = []> = S extends [
  infer X extends number,
  ...infer Rest extends Shape,
]
  ? Index['length'] extends Chosen
    ? Kept<Rest, Chosen, Keep, Keep extends true ? [...Out, 1] : Out, [...Index, 1]>
    : Kept<Rest, Chosen, Keep, [...Out, X], [...Index, 1]>
  : Out;

/** With every dimension 1, or none. */
type All<S extends Shape, Keep> = Keep extends true ? { [K in keyof S]: 1 } : [];

type ReduceBy<S extends Shape, Indices, Keep> = [Indices] extends [never]
  ? All<S, Keep>
  : [Indices] extends [ShapeError<string>]
    ? Indices
    : number extends Indices
      ? Keep extends true
        ? { [K in keyof S]: number }
        : Shape
      : Kept<S, Indices, Keep>;

/** Of each shape, where it can be one of several: what a dimension means depends on their number. */
type ReduceEach<S extends Shape, Dim, Keep> = S extends unknown ? ReduceFrom<S, Dim, Keep> : never;
type ReduceFrom<S extends Shape, Dim, Keep> = boolean extends Keep
  ? Shape
  : Dim extends null | undefined
    ? All<S, Keep>
    : Dim extends number | bigint
      ? ReduceBy<S, IndicesOf<S, [Dim]>, Keep>
      : Dim extends readonly (number | bigint)[]
        ? ReduceBy<S, IndicesOf<S, Dim>, Keep>
        : Shape;

/** Of a shape that is not known, all that is known is that nothing remains when all dimensions go. */
type ReduceUnknown<Dim, Keep> = Dim extends null | undefined ? (Keep extends false ? [] : Shape) : Shape;

type ReduceOf<T extends Tensor, Dim, Keep> =
  Known<T> extends true ? ReduceEach<ShapeOf<T>, Dim, Keep> : ReduceUnknown<Dim, Keep>;

/** The shape of a reduction over `Dim`: a dimension, a list, or null (and an empty list) for all. */
export type Reduce<T extends Tensor, Dim, Keep> = Settled<ReduceOf<T, Dim, Keep>>;
export type Reduces<T extends Tensor, Dim, Keep> = Refused<ReduceOf<T, Dim, Keep>>;

/** Ops along a dimension that keep the shape: softmax, cumsum, flip, sort. Only the dimension is checked. */
export type Along<T extends Tensor, Dim> = Known<T> extends true ? Refused<AlongEach<ShapeOf<T>, Dim>> : unknown;
type AlongEach<S extends Shape, Dim> = S extends unknown ? AlongOf<S, Dim> : never;
type AlongOf<S extends Shape, Dim> = Dim extends number
  ? IndexOf<S, Dim>
  : Dim extends readonly unknown[]
    ? IndicesOf<S, Dim>
    : number;

export {};
