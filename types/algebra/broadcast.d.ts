/** Elementwise ops of several tensors: dimensions are matched from the last one. */
import type { Tensor } from '../../lib/tensor/tensor';
import type { DType, Shape } from '../base';
import type {
  AnyDim,
  Differing,
  Equal,
  Known,
  Mark,
  Marks,
  NoParameter,
  One,
  Settled,
  ShapeError,
  ShapeOf,
  Shown,
  TensorOf,
} from './core';
import type { Expands } from './view';

type MarkList = readonly Mark[];

/** [the broadcast of two dimensions], or 'clash'. */
type BroadcastDim<X extends Mark, Y extends Mark> = X['same'] extends Y['as']
  ? [X['dim']]
  : X extends One
    ? [Y['dim']]
    : Y extends One
      ? [X['dim']]
      : X extends AnyDim
        ? [OfUnknown<Y>]
        : Y extends AnyDim
          ? [OfUnknown<X>]
          : Differing<X, Y>;

/** With an unknown dimension: it is 1 or the same, so a literal (not 1) stays, and the size of a type parameter is unknown. */
type OfUnknown<X extends Mark> = X extends NoParameter ? X['dim'] : number;

/** Both shapes are of known rank. `Whole` is what the message shows. */
type BroadcastMarks<
  A extends MarkList,
  B extends MarkList,
  Whole extends [Shape, Shape],
  Out extends Shape = [],
> = A extends readonly [...infer AFront extends MarkList, infer X extends Mark]
  ? B extends readonly [...infer BFront extends MarkList, infer Y extends Mark]
    ? BroadcastDim<X, Y> extends [infer D extends number]
      ? BroadcastMarks<AFront, BFront, Whole, [D, ...Out]>
      : ShapeError<`shapes ${Shown<Whole[0]>} and ${Shown<Whole[1]>} do not broadcast: ${X['dim']} is not ${Y['dim']}`>
    : [...DimsOf<A>, ...Out]
  : [...DimsOf<B>, ...Out];

type DimsOf<M extends MarkList> = M extends readonly [infer X extends Mark, ...infer Rest extends MarkList]
  ? [X['dim'], ...DimsOf<Rest>]
  : [];

export type BroadcastShapes<A extends Shape, B extends Shape> = A extends unknown
  ? B extends unknown
    ? BroadcastMarks<Marks<A>, Marks<B>, [A, B]>
    : never
  : never;

type BroadcastTensors<A extends Tensor, B extends Tensor> =
  Known<A> extends true ? (Known<B> extends true ? BroadcastShapes<ShapeOf<A>, ShapeOf<B>> : Shape) : Shape;

/** The shape of an elementwise op of two tensors. */
export type Broadcast<A extends Tensor, B extends Tensor> =
  Equal<ShapeOf<A>, ShapeOf<B>> extends true ? ShapeOf<A> : Settled<BroadcastTensors<A, B>>;

/** Nothing, or the error. */
export type Broadcasts<A extends Tensor, B extends Tensor> =
  Equal<ShapeOf<A>, ShapeOf<B>> extends true ? unknown : RefusedAll<BroadcastTensors<A, B>>;

/** For an in-place op, whose target keeps its shape. */
export type BroadcastsInto<A extends Tensor, B extends Tensor> =
  Equal<ShapeOf<A>, ShapeOf<B>> extends true
    ? unknown
    : Known<A> extends true
      ? Known<B> extends true
        ? Broadcasts<A, B> extends ShapeError<infer Message>
          ? ShapeError<Message>
          : Expands<B, ShapeOf<A>>
        : unknown
      : unknown;

/** Unions of shapes are refused only if none fits. */
type RefusedAll<R> = [R] extends [ShapeError<infer Message>] ? ShapeError<Message> : unknown;

/** Three tensors that broadcast. */
export type Broadcast3<A extends Tensor, B extends Tensor, C extends Tensor> =
  TensorOf<DType, Broadcast<A, B>> extends infer T extends Tensor ? Broadcast<T, C> : never;

export {};
