/** Shapes of layers that pad, halve or enlarge dimensions, and of those that go through sequences. */
import type { Shape } from '../base';
import type { Mark, Marks, Met, ShapeError, Shown } from './core';
import type { DimAt, IndexOf } from './dims';
import type { Product, Quotient, Remainder, Sum } from './number';

/** With one dimension replaced. */
type Put<S extends Shape, Index, Size extends number> = { [K in keyof S]: K extends `${Index & number}` ? Size : S[K] };

/** GLU: a dimension is halved. */
export type HalfOf<S extends Shape, Dim> =
  IndexOf<S, Dim> extends infer Index
    ? Index extends ShapeError<infer Message>
      ? ShapeError<Message>
      : number extends Index
        ? Shape
        : Remainder<DimAt<S, Index & number>, 2> extends 1
          ? ShapeError<`dimension ${Dim & number} of ${Shown<S>} is odd`>
          : Put<S, Index, Quotient<DimAt<S, Index & number>, 2>>
    : never;

/** A size and what is added; negative padding is not followed. */
type Padded<N extends number, P extends number> = `${P}` extends `-${string}` ? number : Sum<N, P>;

/** The dimensions with the padding of the last one first. */
type PadEnd<S extends Shape, Pads> = Pads extends readonly [
  infer Left extends number,
  infer Right extends number,
  ...infer More,
]
  ? S extends readonly [...infer Before extends Shape, infer Size extends number]
    ? [...PadEnd<Before, More>, Padded<Padded<Size, Left>, Right>]
    : S
  : S;

interface EqualPads<P> {
  1: [P, P];
  2: [P, P, P, P];
  3: [P, P, P, P, P, P];
}
interface PadRanks {
  1: 2 | 3;
  2: 3 | 4;
  3: 4 | 5;
}

/** Padding on both sides of the last dimensions: one number, or two for each. */
export type PadOf<S extends Shape, Rank extends 1 | 2 | 3, Padding> = S['length'] extends PadRanks[Rank]
  ? Padding extends number
    ? PadEnd<S, EqualPads<Padding>[Rank]>
    : PadEnd<S, Padding>
  : ShapeError<`input ${Shown<S>} does not fit: ${S['length']} dimensions, expected ${PadRanks[Rank]}`>;

type Enlarged<S extends Shape, By> = S extends readonly [infer Size extends number, ...infer Rest extends Shape]
  ? By extends number
    ? [Times<Size, By>, ...Enlarged<Rest, By>]
    : By extends readonly [infer First extends number, ...infer More]
      ? [Times<Size, First>, ...Enlarged<Rest, More>]
      : never
  : [];
/** Factors with a fraction or an exponent are not followed. */
type Times<N extends number, By extends number> = `${By}` extends `${string}${'.' | 'e' | '-'}${string}`
  ? number
  : Product<N, By>;

type Filled<S extends Shape, Size extends number> = { [K in keyof S]: Size };

/** Upsample: `Size` for the dimensions after the channels, or what they are multiplied by. */
export type UpsampleOf<S extends Shape, Size, By> = S['length'] extends 3 | 4 | 5
  ? S extends readonly [infer N extends number, infer C extends number, ...infer Rest extends Shape]
    ? Size extends number
      ? [N, C, ...Filled<Rest, Size>]
      : Size extends readonly number[]
        ? Size['length'] extends Rest['length']
          ? [N, C, ...Size]
          : ShapeError<`input ${Shown<S>} does not fit: it needs ${Size['length']} dimensions after the channels`>
        : By extends readonly number[]
          ? By['length'] extends Rest['length']
            ? [N, C, ...Enlarged<Rest, By>]
            : ShapeError<`input ${Shown<S>} does not fit: it needs ${By['length']} dimensions after the channels`>
          : By extends number
            ? [N, C, ...Enlarged<Rest, By>]
            : Shape
    : Shape
  : ShapeError<`input ${Shown<S>} does not fit: ${S['length']} dimensions, expected 3, 4 or 5`>;

/** InstanceNorm: channels are the first of `Dims` dimensions, or the second of one more. `null`: any number of them. */
export type InstanceOf<S extends Shape, Dims extends number, C> = S['length'] extends Dims
  ? HasChannels<S, DimAt<S, 0>, C>
  : S['length'] extends Sum<Dims, 1>
    ? HasChannels<S, DimAt<S, 1>, C>
    : ShapeError<`input ${Shown<S>} does not fit: ${S['length']} dimensions, expected ${Dims} or ${Sum<Dims, 1>}`>;
type HasChannels<S extends Shape, Size extends number, C> = C extends number
  ? Marks<[Size, C]> extends [infer X extends Mark, infer Y extends Mark]
    ? Met<X, Y> extends [infer _]
      ? S
      : ShapeError<`input ${Shown<S>} does not fit: ${Size} channels are not ${C}`>
    : never
  : S;

/** Sequences, one or a batch of them: 2 or 3 dimensions, the last one of `Size`. */
export type SequenceOf<S extends Shape, Size extends number> = S['length'] extends 2 | 3
  ? S extends readonly [...infer _, infer Last extends number]
    ? Marks<[Last, Size]> extends [infer X extends Mark, infer Y extends Mark]
      ? Met<X, Y> extends [infer _]
        ? S
        : ShapeError<`input ${Shown<S>} does not fit: ${Last} is not ${Size}`>
      : never
    : never
  : ShapeError<`input ${Shown<S>} does not fit: ${S['length']} dimensions, expected 2 or 3`>;

/** What a recurrent layer gives for each step: another last size. */
export type StepsOf<S extends Shape, Size extends number> = S extends readonly [...infer Before extends Shape, number]
  ? [...Before, Size]
  : Shape;

/** Its state after the last step: one for each of its layers and directions. */
export type StatesOf<S extends Shape, Count extends number, Size extends number, BatchFirst> = S extends readonly [
  number,
  number,
]
  ? [Count, Size]
  : S extends readonly [infer A extends number, infer B extends number, number]
    ? BatchFirst extends true
      ? [Count, A, Size]
      : BatchFirst extends false
        ? [Count, B, Size]
        : [Count, number, Size]
    : Shape;

export {};
