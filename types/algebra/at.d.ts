/** Indexing: the dimensions that remain after `t.at(…)`. */
import type { Slice } from '../../lib/elements/indexing';
import type { Tensor } from '../../lib/tensor/tensor';
import type { Shape } from '../base';
import type { DTypeOf, Known, Refused, Settled, ShapeError, ShapeOf, Shown } from './core';
import type { Difference, Least, QuotientUp } from './number';

/** The number of dimensions that the indices consume; `number` if one is a mask or a list. */
type Taken<I, N extends unknown[] = []> = I extends readonly [infer Head, ...infer Rest]
  ? Head extends null | '...'
    ? Taken<Rest, N>
    : Head extends number | bigint | Slice
      ? Taken<Rest, [...N, 1]>
      : number
  : N['length'];

/** A position from the start, at most the size. */
type Position<Size extends number, P extends number> = `${P}` extends `-${infer Back extends number}`
  ? [Difference<Size, Back>] extends [never]
    ? 0
    : Difference<Size, Back>
  : Least<Size, P>;

type Length<From extends number, To extends number, Step extends number> = [Difference<To, From>] extends [never]
  ? 0
  : QuotientUp<Difference<To, From>, Step>;

/** The size that a slice leaves. */
type Sliced<Size extends number, A, B, C> = number extends Size
  ? number
  : number extends A | B | C
    ? number
    : Length<
        A extends number ? Position<Size, A> : 0,
        B extends number ? Position<Size, B> : Size,
        C extends number ? C : 1
      >;

/** Whether an index is in range; unknown ones are. */
type Inside<Size extends number, I extends number> = number extends Size | I
  ? true
  : `${I}` extends `-${infer Back extends number}`
    ? [Difference<Size, Back>] extends [never]
      ? false
      : true
    : [Difference<I, Size>] extends [never]
      ? true
      : false;

/** A tensor of integers with a known number of dimensions takes the place of a dimension, if it is the only one. */
type Walk<S extends Shape, I, Whole extends Shape, Out extends Shape = [], Advanced = false> = I extends readonly [
  infer Head,
  ...infer Rest,
]
  ? Head extends null
    ? Walk<S, Rest, Whole, [...Out, 1], Advanced>
    : Head extends '...'
      ? number extends Taken<Rest>
        ? Shape
        : S['length'] extends Taken<Rest>
          ? Walk<S, Rest, Whole, Out, Advanced>
          : S extends [infer X extends number, ...infer More extends Shape]
            ? Walk<More, I, Whole, [...Out, X], Advanced>
            : ShapeError<`more indices than the dimensions of ${Shown<Whole>}`>
      : S extends [infer X extends number, ...infer More extends Shape]
        ? Head extends Slice<infer A, infer B, infer C>
          ? Walk<More, Rest, Whole, [...Out, Sliced<X, A, B, C>], Advanced>
          : Head extends number
            ? Inside<X, Head> extends true
              ? Walk<More, Rest, Whole, Out, Advanced>
              : ShapeError<`index ${Head} is out of range for a dimension of ${X}`>
            : Head extends bigint
              ? Walk<More, Rest, Whole, Out, Advanced>
              : Advanced extends true
                ? Shape
                : Head extends Tensor
                  ? DTypeOf<Head> extends 'int64' | 'int32' | 'int16' | 'int8'
                    ? Known<Head> extends true
                      ? Walk<More, Rest, Whole, [...Out, ...ShapeOf<Head>], true>
                      : Shape
                    : Shape
                  : Head extends readonly number[]
                    ? Walk<More, Rest, Whole, [...Out, Head['length']], true>
                    : Shape
        : Head extends number | bigint | Slice
          ? ShapeError<`more indices than the dimensions of ${Shown<Whole>}`>
          : Shape
  : I extends readonly []
    ? [...Out, ...S]
    : Shape;

type AtOf<T extends Tensor, I> = Known<T> extends true ? Walk<ShapeOf<T>, I, ShapeOf<T>> : Shape;

/** at. */
export type At<T extends Tensor, I> = Settled<AtOf<T, I>>;
/** The indices, or the error in place of the first. */
export type Indexes<T extends Tensor, I extends readonly unknown[]> =
  Refused<AtOf<T, I>> extends infer R ? (R extends ShapeError<string> ? { [K in keyof I]: R } : I) : I;

export {};
