/** Results of the functions of `torch.run`: available after the previous ops have run. */
import type { Tensor } from '../lib/tensor/tensor';
import type { ArrayOf, ElementOf, Nested } from './algebra';
import type { RowOf, Turned, TurnedEnd } from './algebra/view';
import type { Device, DType, Layout, NamedTuple, Shape } from './base';

/** Whether calls give promises, as in `torch.async`, or, as in `torch.run`, pending results that further ops accept. */
export type When = 'promise' | 'pending';

/** The return type of a call whose result is available later. */
export type Later<K extends When, R> = K extends 'promise' ? Promise<R> : Pending<R>;

/** A result of a recorded op: tensors, also in lists, are pending ones, and every other value is a promise. */
export type Pending<R> = [undefined] extends [R]
  ? R
  : [R] extends [Tensor<infer D, infer S>]
    ? PendingTensor<D, S>
    : [R] extends [NamedTuple<infer T extends readonly Tensor[], infer N>]
      ? NamedTuple<{ [I in keyof T]: Element<T[I]> }, { [Name in keyof N]: Element<N[Name]> }>
      : [R] extends [readonly Tensor[]]
        ? { [I in keyof R]: I extends typeof Symbol.iterator ? () => IterableIterator<PendingTensor> : Element<R[I]> }
        : Promise<R>;

/** The same for the elements of a list. */
type Element<E> = E extends Tensor<infer D, infer S> ? PendingTensor<D, S> : E;

/** A method with a pending result. */
type Recorded<M> = M extends (...args: never[]) => infer R ? (...args: unknown[]) => Pending<R> : never;

/** Methods whose result has the dtype and shape of the tensor. */
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

/** Members of a pending tensor that are not ops, or have more precise types. */
interface PendingMembers<D extends DType, S extends Shape> extends PromiseLike<Tensor<D, S>> {
  /** Known immediately if it follows from the ops' arguments; if it depends on elements, throws `ERR_TORCH_PENDING`. */
  readonly shape: S;
  readonly length: number;
  readonly dtype: D;
  readonly device: Device;
  readonly layout: Layout;
  readonly ndim: number;
  readonly numel: number;
  readonly nbytes: number;
  readonly isCpu: boolean;
  readonly isCuda: boolean;
  /** False until the run ends, which frees unused results. */
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
  backward(...args: (object | boolean | null | undefined)[]): void;
}

type PendingMethods<D extends DType, S extends Shape> = {
  readonly [K in keyof Tensor as Tensor[K] extends (...args: never[]) => unknown
    ? K extends keyof PendingMembers<D, S> | Unfit
      ? never
      : K
    : never]: K extends Elementwise ? (...args: unknown[]) => PendingTensor<D, S> : Recorded<Tensor[K]>;
};

/** Members that need a real tensor. */
type Unfit = 'share' | 'toJSON' | 'apply_' | 'map_' | 'map2_';

declare const real: unique symbol;

/**
 * The result of a recorded op, with the methods of a tensor. Their results are pending too; those that are not tensors, such
 * as of `item()` and `equal()`, are promises. A pending tensor can be awaited. See docs/async.md.
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
        : R extends NamedTuple<infer T, infer N>
          ? NamedTuple<
              { [I in keyof T]: Arrived<T[I], [...Depth, 0]> },
              { [Name in keyof N]: Arrived<N[Name], [...Depth, 0]> }
            >
          : R extends Map<infer K, infer V>
            ? Map<Arrived<K, [...Depth, 0]>, Arrived<V, [...Depth, 0]>>
            : R extends Set<infer V>
              ? Set<Arrived<V, [...Depth, 0]>>
              : R extends object
                ? R extends { [I in keyof R]: Arrived<R[I], [...Depth, 0]> }
                  ? R
                  : { [I in keyof R]: Arrived<R[I], [...Depth, 0]> }
                : R;
