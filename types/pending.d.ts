/** What the functions that `torch.run` hands over give: results that are there when the ops before them have run. */
import type { Tensor } from '../lib/tensor';
import type { ArrayOf, ElementOf, Nested } from './algebra';
import type { RowOf, Turned, TurnedEnd } from './algebra/view';
import type { Device, DType, Layout, Shape } from './base';

/** Whether a call gives a promise, as those of `torch.async`, or, in `torch.run`, what further ops take at once. */
export type When = 'promise' | 'pending';

/** What a call gives whose result is there later. */
export type Later<K extends When, R> = K extends 'promise' ? Promise<R> : Pending<R>;

/** A result of a recorded op: tensors, also in lists, are pending ones, and every other value is a promise. */
export type Pending<R> = [undefined] extends [R]
  ? R
  : [R] extends [Tensor<infer D, infer S>]
    ? PendingTensor<D, S>
    : [R] extends [readonly Tensor[]]
      ? { [I in keyof R]: I extends typeof Symbol.iterator ? () => IterableIterator<PendingTensor> : Element<R[I]> }
      : Promise<R>;

/** The same for what a list has. */
type Element<E> = E extends Tensor<infer D, infer S> ? PendingTensor<D, S> : E;

/** A method with its result pending. */
type Recorded<M> = M extends (...args: never[]) => infer R ? (...args: unknown[]) => Pending<R> : never;

/** Those whose result has the dtype and shape of the tensor. */
type Elementwise =
  | 'abs'
  | 'alias'
  | 'clone'
  | 'contiguous'
  | 'cos'
  | 'detach'
  | 'exp'
  | 'log'
  | 'logSoftmax'
  | 'neg'
  | 'relu'
  | 'relu_'
  | 'sigmoid'
  | 'sin'
  | 'softmax'
  | 'sqrt'
  | 'square'
  | 'tanh'
  | 'zero_';

/** The members of a pending tensor that are not ops, or know their types better. */
interface PendingMembers<D extends DType, S extends Shape> extends PromiseLike<Tensor<D, S>> {
  /** What follows from the arguments of the ops is known at once; where the elements decide, `ERR_TORCH_PENDING`. */
  readonly shape: S;
  readonly dtype: D;
  readonly device: Device;
  readonly layout: Layout;
  readonly ndim: number;
  readonly numel: number;
  readonly nbytes: number;
  readonly isCpu: boolean;
  readonly isCuda: boolean;
  /** False until the run ends, which frees what nobody takes. */
  readonly disposed: boolean;
  readonly T: PendingTensor<D, Turned<S>>;
  readonly H: PendingTensor<D, Turned<S>>;
  readonly mT: PendingTensor<D, TurnedEnd<S>>;
  readonly mH: PendingTensor<D, TurnedEnd<S>>;
  size(): S;
  size(dim: number): number;
  dim(): number;
  isFloatingPoint(): boolean;
  isComplex(): boolean;
  isSigned(): boolean;
  /** A promise: `await t.item()`. */
  item(): Promise<ElementOf<D>>;
  toArray(): Promise<Nested<ElementOf<D>, S>>;
  tolist(): Promise<Nested<ElementOf<D>, S>>;
  toTypedArray(): Promise<ArrayOf<D>>;
  toString(): string;
  dispose(): void;
  [Symbol.dispose](): void;
  [Symbol.iterator](): IterableIterator<PendingTensor<D, RowOf<S>>>;
  backward(options?: object | null): void;
}

type PendingMethods<D extends DType, S extends Shape> = {
  readonly [K in keyof Tensor as Tensor[K] extends (...args: never[]) => unknown
    ? K extends keyof PendingMembers<D, S> | Unfit
      ? never
      : K
    : never]: K extends Elementwise ? (...args: unknown[]) => PendingTensor<D, S> : Recorded<Tensor[K]>;
};

/** What asks for a tensor that is there. */
type Unfit = 'share' | 'toJSON' | 'apply_' | 'map_' | 'map2_';

declare const real: unique symbol;

/**
 * The result of a recorded op, with the methods of a tensor. What they give is pending as well; `item()`, `equal()` and
 * whatever else is not a tensor is a promise. It can be awaited itself. See docs/async.md.
 */
export type PendingTensor<D extends DType = DType, S extends Shape = Shape> = PendingMembers<D, S> &
  PendingMethods<D, S> & { readonly [real]: Tensor<D, S> };

/** What `torch.run` resolves with: real tensors for pending ones, at any depth of arrays, maps, sets and plain objects. */
export type Arrived<R, Depth extends readonly unknown[] = []> =
  R extends PromiseLike<infer V>
    ? Awaited<V>
    : R extends
          | Tensor
          | string
          | number
          | bigint
          | boolean
          | symbol
          | null
          | undefined
          | ((...args: never[]) => unknown)
      ? R
      : Depth['length'] extends 6
        ? R
        : R extends Map<infer K, infer V>
          ? Map<Arrived<K, [...Depth, 0]>, Arrived<V, [...Depth, 0]>>
          : R extends Set<infer V>
            ? Set<Arrived<V, [...Depth, 0]>>
            : R extends object
              ? R extends { [I in keyof R]: Arrived<R[I], [...Depth, 0]> }
                ? R
                : { [I in keyof R]: Arrived<R[I], [...Depth, 0]> }
              : R;
