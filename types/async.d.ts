/** Ops off the event loop: `torch.async`, `torch.run` and the pool of threads under them. See docs/async.md. */
import type { AsyncPool } from '../lib/async/pool';
import type { RunOptions } from '../lib/async/run';
import type { Tensor } from '../lib/tensor';
import type {
  AsyncFftFunctions,
  AsyncLinalgFunctions,
  AsyncFunctions as AsyncModuleFunctions,
  AsyncNnFunctionalFunctions,
  AsyncSparseFunctions,
  AsyncSpecialFunctions,
} from './generated/async-functions';
import type { Arrived, When } from './pending';

/**
 * Every op, run on a thread of the pool: `await torch.async.matmul(a, b)`. The options take a `signal`; tensors may be promises
 * of tensors. Shapes and dtypes flow as in `torch`.
 */
export interface AsyncFunctions<K extends When = 'promise'> extends AsyncModuleFunctions<K> {
  readonly fft: AsyncFftFunctions<K>;
  readonly linalg: AsyncLinalgFunctions<K>;
  readonly nn: { readonly functional: AsyncNnFunctionalFunctions<K> };
  readonly sparse: AsyncSparseFunctions<K>;
  readonly special: AsyncSpecialFunctions<K>;
}

declare const asyncFunctions: AsyncFunctions;

export { asyncFunctions as async };

type Module = typeof import('./index');

/** What `torch.run` hands to its function: all of torch, whose ops give pending tensors, and promises of other values. */
export type RunFunctions = AsyncFunctions<'pending'> & {
  /** Accumulates gradients when the ops before have run. */
  backward(tensor: Tensor | PromiseLike<Tensor>, options?: object | null): void;
} & Omit<Module, keyof AsyncFunctions | 'backward'>;

/**
 * Runs `fn` and records the ops that it calls, on its argument or elsewhere, then runs them one after the other on a thread of
 * the pool, in one trip. What they give stands for the result until it is there, and can be passed on to other ops of the
 * same run; the promise gives `fn`'s result with real tensors in its place. An async `fn` may await one and go on.
 *
 * @throws (rejects) what an op throws; ERR_TORCH_PENDING where a value is used that is not there yet
 */
export declare function run<R>(fn: (t: RunFunctions) => R, options?: RunOptions): Promise<Arrived<Awaited<R>>>;

/** The threads of `torch.async` and `torch.run`. */
export declare const asyncPool: AsyncPool;
export type { Arrived, Later, Pending, PendingTensor, When } from './pending';
export type { AsyncPool, RunOptions };
