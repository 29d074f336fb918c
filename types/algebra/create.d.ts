/** Shapes of new tensors, and others that follow from single numbers. */
import type { Tensor } from '../../lib/tensor/tensor';
import type { Shape } from '../base';
import type { Known, ShapeOf } from './core';
import type { DimAt } from './dims';
import type { Difference, ProductOf, QuotientUp } from './number';

/** arange: one dimension, of (end − start) / step rounded up. */
export type ArangeShape<Start, End, Step> = Start extends number
  ? End extends number
    ? Step extends number
      ? [ArangeSize<Start, End, Step>]
      : [number]
    : [number]
  : [number];
type ArangeSize<Start extends number, End extends number, Step extends number> = number extends Start | End | Step
  ? number
  : IsCount<Start> | IsCount<End> | IsCount<Step> extends true
    ? [Difference<End, Start>] extends [never]
      ? number
      : QuotientUp<Difference<End, Start>, Step>
    : number;
type IsCount<X extends number> = `${X}` extends `-${string}` | `${string}.${string}` | `${string}e${string}`
  ? false
  : true;

/** The number of elements, for an index of one dimension. */
export type LengthOf<T extends Tensor> = Known<T> extends true ? ProductOf<ShapeOf<T>> : number;

/** Rows of a table, chosen by indices. */
export type Embedding<W extends Tensor, I extends Tensor> =
  Known<W> extends true ? (Known<I> extends true ? [...ShapeOf<I>, DimAt<ShapeOf<W>, 1>] : Shape) : Shape;

/** One more dimension, of as many classes; -1 takes as many as there are. */
export type OneHot<T extends Tensor, Count> =
  Known<T> extends true ? [...ShapeOf<T>, Count extends -1 ? number : Count extends number ? Count : number] : Shape;

/** A loss: the elements' own shape without reduction (0), else of one element. */
export type LossShape<Reduction, S> = Reduction extends 0 | 'none'
  ? S
  : Reduction extends 1 | 2 | 'mean' | 'sum'
    ? []
    : Shape;

export {};
