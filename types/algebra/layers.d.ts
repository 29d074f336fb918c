/**
 * Shapes of layers. A layer has a rule: its kind, its name in errors, and the arguments that shapes depend on. `forward` and
 * `Sequential` take from it what the layer takes and gives. The shapes are those of the functions that the layer calls.
 */
import type { Tensor } from '../../lib/tensor/tensor';
import type { DType, Shape } from '../base';
import type { AsIndices, Floating } from './checks';
import type { AdaptiveOf, ConvOf, ConvTransposeOf, KernelOf, PoolOf } from './conv';
import type { DTypeOf, FirstOf, Known, Late, Mark, Marks, Met, ShapeError, ShapeOf, Shown, TensorOf } from './core';
import type { Embedding } from './create';
import type { DimAt } from './dims';
import type { FloatOf } from './dtype';
import type { Ruled } from './matmul';
import type { Quotient } from './number';
import type { HalfOf, InstanceOf, PadOf, SequenceOf, StatesOf, StepsOf, UpsampleOf } from './resized';
import type { Through } from './sequential';
import type { FlattenOf, UnflattenOf } from './view';

/** The kind of a layer, its name and its arguments. */
export type LayerRule = readonly [
  kind: keyof Kinds<Tensor, never> | 'same' | 'float',
  name: string,
  ...args: unknown[],
];

/** What has a rule. No value has this property. */
export interface HasRule<R> {
  readonly _rule?: R;
}

type Weight<S extends Shape> = Tensor<DType, S>;

/** The kinds of layers: the shape of the result, or an error. */
interface Kinds<T extends Tensor, A extends readonly unknown[]> {
  linear: A extends readonly [infer In extends number, infer Out extends number]
    ? Ruled<'linear', T, Weight<[Out, In]>>
    : never;
  embedding: A extends readonly [infer Rows extends number, infer Dim extends number]
    ? AsIndices<T> extends ShapeError<infer Message>
      ? ShapeError<Message>
      : Embedding<Weight<[Rows, Dim]>, T>
    : never;
  conv: A extends readonly [
    infer Rank extends 1 | 2 | 3,
    infer In extends number,
    infer Out extends number,
    infer Kernel,
    infer Stride,
    infer Padding,
    infer Dilation,
    infer Groups extends number,
  ]
    ? ConvOf<T, Weight<[Out, Quotient<In, Groups>, ...KernelOf<Kernel, Rank>]>, Stride, Padding, Dilation, Groups>
    : never;
  convTranspose: A extends readonly [
    infer Rank extends 1 | 2 | 3,
    infer In extends number,
    infer Out extends number,
    infer Kernel,
    infer Stride,
    infer Padding,
    infer OutputPadding,
    infer Groups extends number,
    infer Dilation,
  ]
    ? ConvTransposeOf<
        T,
        Weight<[In, Quotient<Out, Groups>, ...KernelOf<Kernel, Rank>]>,
        Stride,
        Padding,
        OutputPadding,
        Groups,
        Dilation
      >
    : never;
  pool: A extends readonly [
    infer Rank extends 1 | 2 | 3,
    infer Kernel,
    infer Stride,
    infer Padding,
    infer Dilation,
    infer CeilMode,
  ]
    ? PoolOf<T, Rank, Kernel, Stride, Padding, Dilation, CeilMode>
    : never;
  adaptive: A extends readonly [infer Rank extends 1 | 2 | 3, infer Sizes] ? AdaptiveOf<T, Rank, Sizes> : never;
  flatten: A extends readonly [infer Start, infer End] ? FlattenOf<T, Start, End> : never;
  unflatten: A extends readonly [infer Dim, infer Sizes] ? UnflattenOf<T, Dim, Sizes> : never;
  /** Channels are the second dimension, of inputs of these numbers of dimensions. */
  channels: A extends readonly [infer Ranks extends number, infer Channels extends number]
    ? Known<T> extends true
      ? ChannelsOf<ShapeOf<T>, Ranks, Channels>
      : Shape
    : never;
  /** The last dimensions have these sizes. */
  last: A extends readonly [infer Sizes]
    ? Known<T> extends true
      ? TailOf<ShapeOf<T>, ShapeOf<T>, Sizes extends number ? [Sizes] : Sizes>
      : Shape
    : never;
  /** Sequences of this last size; the result has the input's shape. */
  sequence: A extends readonly [infer Size extends number]
    ? Known<T> extends true
      ? SequenceOf<ShapeOf<T>, Size>
      : Shape
    : never;
  instance: A extends readonly [infer Dims extends number, infer Channels]
    ? Known<T> extends true
      ? InstanceOf<ShapeOf<T>, Dims, Channels>
      : Shape
    : never;
  half: A extends readonly [infer Dim] ? (Known<T> extends true ? HalfOf<ShapeOf<T>, Dim> : Shape) : never;
  pad: A extends readonly [infer Rank extends 1 | 2 | 3, infer Padding]
    ? Known<T> extends true
      ? PadOf<ShapeOf<T>, Rank, Padding>
      : Shape
    : never;
  upsample: A extends readonly [infer Size, infer By]
    ? Known<T> extends true
      ? UpsampleOf<ShapeOf<T>, Size, By>
      : Shape
    : never;
  sequential: never;
}

type ChannelsOf<S extends Shape, Ranks extends number, Channels extends number> = S['length'] extends Ranks
  ? Marks<[DimAt<S, 1>, Channels]> extends [infer X extends Mark, infer Y extends Mark]
    ? Met<X, Y> extends [infer _]
      ? S
      : ShapeError<`input ${Shown<S>} does not fit: ${DimAt<S, 1>} channels are not ${Channels}`>
    : never
  : ShapeError<`input ${Shown<S>} does not fit: ${S['length']} dimensions, expected ${Ranks}`>;

type TailOf<S extends Shape, Left extends Shape, Sizes> = Sizes extends readonly [
  ...infer Before,
  infer Wanted extends number,
]
  ? Left extends [...infer Rest extends Shape, infer Size extends number]
    ? Marks<[Size, Wanted]> extends [infer X extends Mark, infer Y extends Mark]
      ? Met<X, Y> extends [infer _]
        ? TailOf<S, Rest, Before>
        : ShapeError<`input ${Shown<S>} does not fit: ${Size} is not ${Wanted}`>
      : never
    : ShapeError<`input ${Shown<S>} does not fit: it has too few dimensions`>
  : S;

/** The tensor that a layer gives, or an error without the layer's name. */
export type LayerOut<T extends Tensor, R> = R extends readonly ['sequential', string, infer Modules]
  ? Through<T, Modules>
  : R extends readonly ['same', string]
    ? Late<T, Same<T>>
    : R extends readonly ['float', string]
      ? Late<T, SameFloat<T>>
      : R extends readonly [infer Kind extends keyof Kinds<Tensor, never>, string, ...infer A]
        ? FirstOf<FloatingFor<Kind, T>, Kinds<T, A>[Kind]> extends infer S
          ? S extends ShapeError<infer Message>
            ? ShapeError<Message>
            : TensorOf<Kind extends 'embedding' ? DType : DTypeOf<T>, S>
          : never
        : Tensor;

/** Layers that compute with parameters or statistics take no integers. */
type FloatingFor<Kind, T extends Tensor> = Kind extends
  | 'linear'
  | 'conv'
  | 'convTranspose'
  | 'channels'
  | 'last'
  | 'sequence'
  | 'instance'
  ? Floating<T>
  : unknown;

export type NameOf<R> = R extends readonly [unknown, infer Name extends string, ...unknown[]] ? Name : string;

/**
 * `unknown` for an input of the layer, or the text of the error, which names it. Joined to the input's type by `&`, so that a
 * class that extends the layer may take any tensor.
 */
export type LayerTakes<T extends Tensor, R> =
  LayerOut<T, R> extends ShapeError<infer Message> ? `${NameOf<R>}: ${Message}` : unknown;

/** The result of a layer. Whatever the arguments, it is a tensor. */
export type LayerGives<T extends Tensor, R> = LayerOut<T, R> extends infer G extends Tensor ? G : Tensor;

/** What a recurrent layer gives for each step, and its state after the last one. */
export type StepsGiven<T extends Tensor, Size extends number> = TensorOf<
  DTypeOf<T>,
  Known<T> extends true ? StepsOf<ShapeOf<T>, Size> : Shape
>;
export type StatesGiven<T extends Tensor, Count extends number, Size extends number, BatchFirst> = TensorOf<
  DTypeOf<T>,
  Known<T> extends true ? StatesOf<ShapeOf<T>, Count, Size, BatchFirst> : Shape
>;

/** The result of a layer that changes only values. */
export type Same<T extends Tensor> = TensorOf<DTypeOf<T>, ShapeOf<T>>;

/** The same, where integers become floats. */
export type SameFloat<T extends Tensor> = TensorOf<FloatOf<DTypeOf<T>>, ShapeOf<T>>;

export {};
