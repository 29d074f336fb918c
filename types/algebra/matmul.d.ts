/** Products of matrices. A list of sizes is [rows, columns], of batches before them. */
import type { Tensor } from '../../lib/tensor/tensor';
import type { Shape } from '../base';
import type { BroadcastShapes } from './broadcast';
import type { Known, Mark, Marks, Met, Refused, Settled, ShapeError, ShapeOf, Shown } from './core';

/** The error where the inner sizes `X` and `Y` differ, else `Result`. */
type Inner<A extends Shape, B extends Shape, X extends number, Y extends number, Result> =
  Marks<[X, Y]> extends [infer MX extends Mark, infer MY extends Mark]
    ? Met<MX, MY> extends [infer _]
      ? Result
      : ShapeError<`shapes ${Shown<A>} and ${Shown<B>} do not multiply: ${X} is not ${Y}`>
    : Result;

/** Batches before the matrices broadcast. */
type Batched<A extends Shape, B extends Shape, Tail extends Shape> =
  BroadcastShapes<A, B> extends infer R ? (R extends [...infer L extends Shape] ? [...L, ...Tail] : R) : never;

type MatmulShapes<A extends Shape, B extends Shape> = A extends [infer K extends number]
  ? B extends [infer L extends number]
    ? Inner<A, B, K, L, []>
    : B extends [...infer Batch extends Shape, infer L extends number, infer M extends number]
      ? Inner<A, B, K, L, [...Batch, M]>
      : ShapeError<Scalars<A, B>>
  : A extends [...infer BatchA extends Shape, infer N extends number, infer K extends number]
    ? B extends [infer L extends number]
      ? Inner<A, B, K, L, [...BatchA, N]>
      : B extends [...infer BatchB extends Shape, infer L extends number, infer M extends number]
        ? Inner<A, B, K, L, Batched<BatchA, BatchB, [N, M]>>
        : ShapeError<Scalars<A, B>>
    : ShapeError<Scalars<A, B>>;

type Scalars<
  A extends Shape,
  B extends Shape,
> = `shapes ${Shown<A>} and ${Shown<B>} do not multiply: both need at least 1 dimension`;

/** Shapes where each side has exactly as many dimensions as in `A` and `B`. */
type RanksDiffer<
  A extends Shape,
  B extends Shape,
  Wanted extends string,
> = `shapes ${Shown<A>} and ${Shown<B>} do not multiply: expected ${Wanted}`;

type MmShapes<A extends Shape, B extends Shape> = A extends [infer N extends number, infer K extends number]
  ? B extends [infer L extends number, infer M extends number]
    ? Inner<A, B, K, L, [N, M]>
    : ShapeError<RanksDiffer<A, B, '2 dimensions each'>>
  : ShapeError<RanksDiffer<A, B, '2 dimensions each'>>;

type MvShapes<A extends Shape, B extends Shape> = A extends [infer N extends number, infer K extends number]
  ? B extends [infer L extends number]
    ? Inner<A, B, K, L, [N]>
    : ShapeError<RanksDiffer<A, B, '2 dimensions and 1'>>
  : ShapeError<RanksDiffer<A, B, '2 dimensions and 1'>>;

type DotShapes<A extends Shape, B extends Shape> = A extends [infer K extends number]
  ? B extends [infer L extends number]
    ? Inner<A, B, K, L, []>
    : ShapeError<RanksDiffer<A, B, '1 dimension each'>>
  : ShapeError<RanksDiffer<A, B, '1 dimension each'>>;

type OuterShapes<A extends Shape, B extends Shape> = A extends [infer N extends number]
  ? B extends [infer M extends number]
    ? [N, M]
    : ShapeError<RanksDiffer<A, B, '1 dimension each'>>
  : ShapeError<RanksDiffer<A, B, '1 dimension each'>>;

type BmmShapes<A extends Shape, B extends Shape> = A extends [
  infer P extends number,
  infer N extends number,
  infer K extends number,
]
  ? B extends [infer Q extends number, infer L extends number, infer M extends number]
    ? Marks<[P, Q]> extends [infer MP extends Mark, infer MQ extends Mark]
      ? Met<MP, MQ> extends [infer Batch extends number]
        ? Inner<A, B, K, L, [Batch, N, M]>
        : ShapeError<`shapes ${Shown<A>} and ${Shown<B>} do not multiply: ${P} batches are not ${Q}`>
      : never
    : ShapeError<RanksDiffer<A, B, '3 dimensions each'>>
  : ShapeError<RanksDiffer<A, B, '3 dimensions each'>>;

type LinearShapes<A extends Shape, W extends Shape> = A extends [...infer Batch extends Shape, infer K extends number]
  ? W extends [infer Out extends number, infer L extends number]
    ? Inner<A, W, K, L, [...Batch, Out]>
    : W extends [infer L extends number]
      ? Inner<A, W, K, L, Batch>
      : ShapeError<RanksDiffer<A, W, 'a weight of [out, in]'>>
  : ShapeError<RanksDiffer<A, W, 'an input of at least 1 dimension'>>;

interface Rules<A extends Shape, B extends Shape> {
  matmul: MatmulShapes<A, B>;
  mm: MmShapes<A, B>;
  mv: MvShapes<A, B>;
  dot: DotShapes<A, B>;
  outer: OuterShapes<A, B>;
  bmm: BmmShapes<A, B>;
  linear: LinearShapes<A, B>;
}

export type Ruled<Rule extends keyof Rules<[], []>, A extends Tensor, B extends Tensor> =
  Known<A> extends true ? (Known<B> extends true ? Rules<ShapeOf<A>, ShapeOf<B>>[Rule] : Shape) : Shape;

/** The shape of a product, and its check. */
export type Multiplied<Rule extends keyof Rules<[], []>, A extends Tensor, B extends Tensor> = Settled<
  Ruled<Rule, A, B>
>;
export type Multiplies<Rule extends keyof Rules<[], []>, A extends Tensor, B extends Tensor> = Refused<
  Ruled<Rule, A, B>
>;

export {};
