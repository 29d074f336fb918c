/** Convolutions and pooling: the number of positions of a window. */
import type { Tensor } from '../../lib/tensor/tensor';
import type { Shape } from '../base';
import type { Known, Mark, Marks, Met, Numbers, Refused, Settled, ShapeError, ShapeOf, Shown } from './core';
import type { Each } from './dims';
import type { Difference, Product, Quotient, Sum } from './number';

/** Floor((I + 2 P − D (K − 1) − 1) / S) + 1; never if the window does not fit. */
type Places<I extends number, K extends number, S extends number, P extends number, D extends number> = [
  Difference<Sum<I, Product<2, P>>, Sum<Product<D, Difference<K, 1>>, 1>>,
] extends [infer Free]
  ? [Free] extends [never]
    ? never
    : Free extends number
      ? Sum<Quotient<Free, S>, 1>
      : never
  : never;

/** (I − 1) S − 2 P + D (K − 1) + O + 1 */
type TransposedPlaces<
  I extends number,
  K extends number,
  S extends number,
  P extends number,
  D extends number,
  O extends number,
> = Difference<Sum<Product<Difference<I, 1>, S>, Sum<Product<D, Difference<K, 1>>, Sum<O, 1>>>, Product<2, P>>;

/** Padding by name: 'same' keeps the sizes. */
type PaddingOf<P, I extends number> = P extends 'valid' ? 0 : P extends string ? number : Each<P, I, 0>;

type Windows<
  Sizes extends Shape,
  Kernel extends Shape,
  Stride,
  Padding,
  Dilation,
  Done extends Shape = [],
> = Sizes extends [infer I extends number, ...infer Rest extends Shape]
  ? Kernel extends [infer K extends number, ...infer KRest extends Shape]
    ? [
        Places<
          I,
          K,
          Each<Stride, Done['length'], K>,
          PaddingOf<Padding, Done['length']>,
          Each<Dilation, Done['length'], 1>
        >,
      ] extends [infer Out]
      ? [Out] extends [never]
        ? ShapeError<`a window of ${K} does not fit into ${I}`>
        : Out extends number
          ? Windows<Rest, KRest, Stride, Padding, Dilation, [...Done, Out]>
          : never
      : never
    : Done
  : Done;

type TransposedWindows<
  Sizes extends Shape,
  Kernel extends Shape,
  Stride,
  Padding,
  OutputPadding,
  Dilation,
  Done extends Shape = [],
> = Sizes extends [infer I extends number, ...infer Rest extends Shape]
  ? Kernel extends [infer K extends number, ...infer KRest extends Shape]
    ? TransposedWindows<
        Rest,
        KRest,
        Stride,
        Padding,
        OutputPadding,
        Dilation,
        [
          ...Done,
          TransposedPlaces<
            I,
            K,
            Each<Stride, Done['length'], 1>,
            Each<Padding, Done['length'], 0>,
            Each<Dilation, Done['length'], 1>,
            Each<OutputPadding, Done['length'], 0>
          >,
        ]
      >
    : Done
  : Done;

/** The leading dimensions followed by the computed ones, or the error. */
type With<Front extends Shape, R> = R extends [...infer L extends Shape] ? [...Front, ...L] : R;

type ChannelsDiffer<
  S extends Shape,
  W extends Shape,
  C extends number,
  Wanted extends number,
> = `input ${Shown<S>} and weight ${Shown<W>} do not fit: ${C} channels are not ${Wanted}`;

/** Whether the input's channels are those of the weight times the groups. */
type Channels<S extends Shape, W extends Shape, C extends number, Wanted extends number, R> =
  Marks<[C, Wanted]> extends [infer X extends Mark, infer Y extends Mark]
    ? Met<X, Y> extends [infer _]
      ? R
      : ShapeError<ChannelsDiffer<S, W, C, Wanted>>
    : never;

/** The batch (if there is one), the channels and the sizes that the window moves over, by the rank of the kernel. */
type Parts<S extends Shape, Kernel extends Shape> = S extends [infer C extends number, ...infer Sizes extends Shape]
  ? Sizes['length'] extends Kernel['length']
    ? [[], C, Sizes]
    : S extends [infer N extends number, infer C extends number, ...infer Sizes extends Shape]
      ? Sizes['length'] extends Kernel['length']
        ? [[N], C, Sizes]
        : 'differ'
      : 'differ'
  : 'differ';

type WrongRank<
  S extends Shape,
  W extends Shape,
> = `input ${Shown<S>} and weight ${Shown<W>} do not fit: their numbers of dimensions differ`;

type ConvShape<S extends Shape, W extends Shape, Stride, Padding, Dilation, Groups extends number> = W extends [
  infer O extends number,
  infer C extends number,
  ...infer Kernel extends Shape,
]
  ? Parts<S, Kernel> extends 'differ'
    ? ShapeError<WrongRank<S, W>>
    : Parts<S, Kernel> extends [infer N extends Shape, infer Has extends number, infer Sizes extends Shape]
      ? Channels<
          S,
          W,
          Has,
          Product<Groups, C>,
          With<[...N, O], Padding extends 'same' ? Sizes : Windows<Numbers<Sizes>, Kernel, Stride, Padding, Dilation>>
        >
      : never
  : ShapeError<WrongRank<S, W>>;

type ConvTransposeShape<
  S extends Shape,
  W extends Shape,
  Stride,
  Padding,
  OutputPadding,
  Groups extends number,
  Dilation,
> = W extends [infer C extends number, infer O extends number, ...infer Kernel extends Shape]
  ? Parts<S, Kernel> extends 'differ'
    ? ShapeError<WrongRank<S, W>>
    : Parts<S, Kernel> extends [infer N extends Shape, infer Has extends number, infer Sizes extends Shape]
      ? Channels<
          S,
          W,
          Has,
          C,
          [
            ...N,
            Product<Groups, O>,
            ...TransposedWindows<Numbers<Sizes>, Kernel, Stride, Padding, OutputPadding, Dilation>,
          ]
        >
      : never
  : ShapeError<WrongRank<S, W>>;

type GroupsOf<G> = G extends number ? G : number;

export type ConvOf<T extends Tensor, W extends Tensor, Stride, Padding, Dilation, Groups> =
  Known<T> extends true
    ? Known<W> extends true
      ? ConvShape<ShapeOf<T>, ShapeOf<W>, Stride, Padding, Dilation, GroupsOf<Groups>>
      : Shape
    : Shape;

export type Conv<T extends Tensor, W extends Tensor, Stride, Padding, Dilation, Groups> = Settled<
  ConvOf<T, W, Stride, Padding, Dilation, Groups>
>;
export type Convolves<
  T extends Tensor,
  W extends Tensor,
  Rank extends 1 | 2 | 3,
  Stride,
  Padding,
  Dilation,
  Groups,
> = WeightOf<W, Rank, Refused<ConvOf<T, W, Stride, Padding, Dilation, Groups>>>;

/** Dimensions of a weight: the channels of the result and of the input, and those of the kernel. */
interface WeightRanks {
  1: 3;
  2: 4;
  3: 5;
}

/** The check of the sizes, once the weight has as many dimensions as the op moves over and two more. */
type WeightOf<W extends Tensor, Rank extends 1 | 2 | 3, Check> =
  Known<W> extends true
    ? ShapeOf<W>['length'] extends WeightRanks[Rank]
      ? Check
      : ShapeError<`weight ${Shown<ShapeOf<W>>} has ${ShapeOf<W>['length']} dimensions: expected ${WeightRanks[Rank]}`>
    : unknown;

export type ConvTransposeOf<T extends Tensor, W extends Tensor, Stride, Padding, OutputPadding, Groups, Dilation> =
  Known<T> extends true
    ? Known<W> extends true
      ? ConvTransposeShape<ShapeOf<T>, ShapeOf<W>, Stride, Padding, OutputPadding, GroupsOf<Groups>, Dilation>
      : Shape
    : Shape;

export type ConvTranspose<
  T extends Tensor,
  W extends Tensor,
  Stride,
  Padding,
  OutputPadding,
  Groups,
  Dilation,
> = Settled<ConvTransposeOf<T, W, Stride, Padding, OutputPadding, Groups, Dilation>>;
export type ConvTransposes<
  T extends Tensor,
  W extends Tensor,
  Rank extends 1 | 2 | 3,
  Stride,
  Padding,
  OutputPadding,
  Groups,
  Dilation,
> = WeightOf<W, Rank, Refused<ConvTransposeOf<T, W, Stride, Padding, OutputPadding, Groups, Dilation>>>;

/** A list of `Rank` sizes from a kernel size, where one number applies to all. */
export type KernelOf<K, Rank extends 1 | 2 | 3> = Rank extends 1
  ? [Each<K, 0, number>]
  : Rank extends 2
    ? [Each<K, 0, number>, Each<K, 1, number>]
    : [Each<K, 0, number>, Each<K, 1, number>, Each<K, 2, number>];

type PoolShape<S extends Shape, Kernel extends Shape, Stride, Padding, Dilation, CeilMode> =
  Parts<S, Kernel> extends 'differ'
    ? ShapeError<`input ${Shown<S>} does not fit a window ${Shown<Kernel>}: it needs as many dimensions and 1 or 2 before them`>
    : Parts<S, Kernel> extends [infer N extends Shape, infer C extends number, infer Sizes extends Shape]
      ? CeilMode extends false
        ? With<[...N, C], Windows<Numbers<Sizes>, Kernel, Stride, Padding, Dilation>>
        : [...N, C, ...{ [K in keyof Sizes]: number }]
      : never;

export type PoolOf<T extends Tensor, Rank extends 1 | 2 | 3, Kernel, Stride, Padding, Dilation, CeilMode> =
  Known<T> extends true ? PoolShape<ShapeOf<T>, KernelOf<Kernel, Rank>, Stride, Padding, Dilation, CeilMode> : Shape;

export type Pool<T extends Tensor, Rank extends 1 | 2 | 3, Kernel, Stride, Padding, Dilation, CeilMode> = Settled<
  PoolOf<T, Rank, Kernel, Stride, Padding, Dilation, CeilMode>
>;
export type Pools<T extends Tensor, Rank extends 1 | 2 | 3, Kernel, Stride, Padding, Dilation, CeilMode> = Refused<
  PoolOf<T, Rank, Kernel, Stride, Padding, Dilation, CeilMode>
>;

/** Adaptive pooling: the sizes are given. */
export type AdaptiveOf<T extends Tensor, Rank extends 1 | 2 | 3, Sizes> =
  Known<T> extends true
    ? Parts<ShapeOf<T>, KernelOf<Sizes, Rank>> extends 'differ'
      ? ShapeError<`input ${Shown<ShapeOf<T>>} does not fit: it needs ${Rank} dimensions and 1 or 2 before them`>
      : Parts<ShapeOf<T>, KernelOf<Sizes, Rank>> extends [infer N extends Shape, infer C extends number, infer _]
        ? [...N, C, ...KernelOf<Sizes, Rank>]
        : never
    : Shape;

export type Adaptive<T extends Tensor, Rank extends 1 | 2 | 3, Sizes> = Settled<AdaptiveOf<T, Rank, Sizes>>;
export type Adapts<T extends Tensor, Rank extends 1 | 2 | 3, Sizes> = Refused<AdaptiveOf<T, Rank, Sizes>>;

export {};
