/** Ops off the event loop: `torch.async`, `torch.run` and their thread pool. See docs/async.md. */
import type { AsyncPool } from '../lib/async/pool';
import type { RunOptions } from '../lib/async/run';
import type { Tensor } from '../lib/tensor/tensor';
import type {
  FftFunctions,
  Functions,
  LinalgFunctions,
  NnFunctionalFunctions,
  SparseFunctions,
  SpecialFunctions,
} from './generated/functions';
import type { Arrived, When } from './pending';

/**
 * Every op, run on a pool thread: `await torch.async.matmul(a, b)`. The options accept `signal` and `timeoutMs`; tensor
 * arguments may be promises. Shapes and dtypes are inferred as in `torch`.
 */
export interface AsyncFunctions<K extends When = 'promise'> extends Functions<K> {
  readonly fft: FftFunctions<K>;
  readonly linalg: LinalgFunctions<K>;
  readonly nn: { readonly functional: NnFunctionalFunctions<K> };
  readonly sparse: SparseFunctions<K>;
  readonly special: SpecialFunctions<K>;
}

declare const asyncFunctions: AsyncFunctions;

export { asyncFunctions as async };

type Module = typeof import('./index');

/** The module that `torch.run` passes to its function: its ops give pending tensors, and promises of other values. */
export type RunFunctions = AsyncFunctions<'pending'> & {
  /** Accumulates gradients after the previous ops have run. */
  backward(tensor: Tensor | PromiseLike<Tensor>, ...args: (object | boolean | null | undefined)[]): void;
} & Omit<Module, keyof AsyncFunctions | 'backward'>;

/**
 * Runs `fn` and records the ops that it calls, on its argument or elsewhere, then runs them sequentially on a pool thread, in
 * one batch. Their pending results can be passed to other ops of the same run; the promise resolves with `fn`'s result, real
 * tensors replacing pending ones. An async `fn` may await a pending result and continue.
 *
 * @throws (rejects) what an op throws; ERR_TORCH_PENDING if a value is used before it is available
 */
export declare function run<R>(fn: (t: RunFunctions) => R, options?: RunOptions): Promise<Arrived<Awaited<R>>>;

/** The threads of `torch.async` and `torch.run`. */
export declare const asyncPool: AsyncPool;
export type { Arrived, Later, Pending, PendingTensor, When } from './pending';
export type { AsyncPool, RunOptions };
