/**
 * What the functions of `torch` and those of `torch.async` and `torch.run` do not have in common. Both are declared once, in
 * terms of these types: a program of two lines spends most of the compiler's time on reading declarations.
 */
import type { Tensor } from '../lib/tensor/tensor';
import type { Fits, ShapeError, TensorOf } from './algebra';
import type { Signal } from './base';
import type { Later, When } from './pending';

/** When a call gives its result: at once, or as `When` says. */
export type Mode = 'now' | When;

/** A tensor argument: in `torch.async` it may be a promise. */
export type In<K extends Mode, T> = K extends 'now' ? T : T | PromiseLike<T>;

/** The same for an argument that a check may refuse. */
export type FitsIn<K extends Mode, T, Check> = K extends 'now'
  ? Fits<T, Check>
  : [Check] extends [ShapeError<infer Message>]
    ? Message
    : T | PromiseLike<T>;

/** Lists with promises, which `torch.async` accepts for lists of tensors. */
export type PromisesIn<K extends Mode> = K extends 'now' ? never : readonly (Tensor | PromiseLike<Tensor>)[];

/** What a call returns. */
export type Result<K extends Mode, R> = K extends When ? Later<K, R> : R;

/** A call that returns a tensor. */
export type Out<K extends Mode, D, S = number[]> = Result<K, TensorOf<D, S>>;

interface SignalOption {
  signal?: Signal | undefined;
  /** Milliseconds after which the call rejects with `ERR_TORCH_TIMEOUT`. */
  timeoutMs?: number | undefined;
}

/** The further options of `torch.async`. */
export type SignalIn<K extends Mode> = K extends 'now' ? unknown : SignalOption;

/** The same, where a call has no other options. */
export type RestIn<K extends Mode> = K extends 'now' ? [] : [options?: SignalOption];

/** The same after arguments of any number. */
export type LastIn<K extends Mode> = K extends 'now' ? never : SignalOption;
