/** Ops off the event loop: `torch.async`, `torch.run` and the pool of threads under them. See docs/async.md. */
import type { AsyncPool } from '../lib/async/pool';
import type { RunOptions } from '../lib/async/run';
import type {
  AsyncFftFunctions,
  AsyncLinalgFunctions,
  AsyncFunctions as AsyncModuleFunctions,
  AsyncNnFunctionalFunctions,
  AsyncSparseFunctions,
  AsyncSpecialFunctions,
} from './generated/async-functions';

/**
 * Every op, run on a thread of the pool: `await torch.async.matmul(a, b)`. The options take a `signal`; tensors may be promises
 * of tensors. Shapes and dtypes flow as in `torch`.
 */
export interface AsyncFunctions extends AsyncModuleFunctions {
  readonly fft: AsyncFftFunctions;
  readonly linalg: AsyncLinalgFunctions;
  readonly nn: { readonly functional: AsyncNnFunctionalFunctions };
  readonly sparse: AsyncSparseFunctions;
  readonly special: AsyncSpecialFunctions;
}

declare const asyncFunctions: AsyncFunctions;

export { asyncFunctions as async };

/**
 * Records the ops that `fn` calls on its argument, which has all of torch, and runs them one after the other on a thread of
 * the pool, in one trip. What they give stands for the result until it is there, and can be passed on to other ops of the
 * same run; the promise gives `fn`'s result with real tensors in its place. An async `fn` may await one and go on.
 *
 * @throws (rejects) what an op throws; ERR_TORCH_PENDING where a result is used that is not there yet
 */
export declare function run<T>(
  fn: (t: typeof import('./index')) => PromiseLike<T> | T,
  options?: RunOptions,
): Promise<T>;

/** The threads of `torch.async` and `torch.run`. */
export declare const asyncPool: AsyncPool;
export type { AsyncPool, RunOptions };
