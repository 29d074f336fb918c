/** Ops off the event loop: `torch.async`, `torch.run` and the pool of threads under them. See docs/async.md. */
import type { AsyncPool } from '../lib/async/pool';
import type { RunOptions } from '../lib/async/run';
import type { Signal } from './base';
import type {
  FftFunctions,
  Functions,
  LinalgFunctions,
  NnFunctionalFunctions,
  SparseFunctions,
  SpecialFunctions,
} from './generated/functions';

interface WithSignal {
  signal?: Signal | undefined;
}

/**
 * The signatures of an op, with a promise of its result. Shapes are dynamic here: the compiler gives up type parameters
 * where it takes signatures apart. `torch.run` keeps them.
 */
type Later<F> = F extends {
  (...args: infer A1): infer R1;
  (...args: infer A2): infer R2;
  (...args: infer A3): infer R3;
  (...args: infer A4): infer R4;
  (...args: infer A5): infer R5;
  (...args: infer A6): infer R6;
  (...args: infer A7): infer R7;
  (...args: infer A8): infer R8;
  (...args: infer A9): infer R9;
  (...args: infer A10): infer R10;
  (...args: infer A11): infer R11;
  (...args: infer A12): infer R12;
  (...args: infer A13): infer R13;
  (...args: infer A14): infer R14;
  (...args: infer A15): infer R15;
  (...args: infer A16): infer R16;
  (...args: infer A17): infer R17;
  (...args: infer A18): infer R18;
  (...args: infer A19): infer R19;
  (...args: infer A20): infer R20;
  (...args: infer A21): infer R21;
  (...args: infer A22): infer R22;
  (...args: infer A23): infer R23;
  (...args: infer A24): infer R24;
  (...args: infer A25): infer R25;
  (...args: infer A26): infer R26;
  (...args: infer A27): infer R27;
  (...args: infer A28): infer R28;
  (...args: infer A29): infer R29;
  (...args: infer A30): infer R30;
  (...args: infer A31): infer R31;
  (...args: infer A32): infer R32;
  (...args: infer A33): infer R33;
  (...args: infer A34): infer R34;
}
  ? {
      (...args: A1 | [...A1, WithSignal]): Promise<R1>;
      (...args: A2 | [...A2, WithSignal]): Promise<R2>;
      (...args: A3 | [...A3, WithSignal]): Promise<R3>;
      (...args: A4 | [...A4, WithSignal]): Promise<R4>;
      (...args: A5 | [...A5, WithSignal]): Promise<R5>;
      (...args: A6 | [...A6, WithSignal]): Promise<R6>;
      (...args: A7 | [...A7, WithSignal]): Promise<R7>;
      (...args: A8 | [...A8, WithSignal]): Promise<R8>;
      (...args: A9 | [...A9, WithSignal]): Promise<R9>;
      (...args: A10 | [...A10, WithSignal]): Promise<R10>;
      (...args: A11 | [...A11, WithSignal]): Promise<R11>;
      (...args: A12 | [...A12, WithSignal]): Promise<R12>;
      (...args: A13 | [...A13, WithSignal]): Promise<R13>;
      (...args: A14 | [...A14, WithSignal]): Promise<R14>;
      (...args: A15 | [...A15, WithSignal]): Promise<R15>;
      (...args: A16 | [...A16, WithSignal]): Promise<R16>;
      (...args: A17 | [...A17, WithSignal]): Promise<R17>;
      (...args: A18 | [...A18, WithSignal]): Promise<R18>;
      (...args: A19 | [...A19, WithSignal]): Promise<R19>;
      (...args: A20 | [...A20, WithSignal]): Promise<R20>;
      (...args: A21 | [...A21, WithSignal]): Promise<R21>;
      (...args: A22 | [...A22, WithSignal]): Promise<R22>;
      (...args: A23 | [...A23, WithSignal]): Promise<R23>;
      (...args: A24 | [...A24, WithSignal]): Promise<R24>;
      (...args: A25 | [...A25, WithSignal]): Promise<R25>;
      (...args: A26 | [...A26, WithSignal]): Promise<R26>;
      (...args: A27 | [...A27, WithSignal]): Promise<R27>;
      (...args: A28 | [...A28, WithSignal]): Promise<R28>;
      (...args: A29 | [...A29, WithSignal]): Promise<R29>;
      (...args: A30 | [...A30, WithSignal]): Promise<R30>;
      (...args: A31 | [...A31, WithSignal]): Promise<R31>;
      (...args: A32 | [...A32, WithSignal]): Promise<R32>;
      (...args: A33 | [...A33, WithSignal]): Promise<R33>;
      (...args: A34 | [...A34, WithSignal]): Promise<R34>;
    }
  : never;

type AllLater<F> = { readonly [Name in keyof F]: Later<F[Name]> };

/** Every op, run on a thread of the pool: `await torch.async.matmul(a, b)`. The last argument may be `{ signal }`. */
export interface AsyncFunctions extends AllLater<Functions> {
  readonly fft: AllLater<FftFunctions>;
  readonly linalg: AllLater<LinalgFunctions>;
  readonly nn: { readonly functional: AllLater<NnFunctionalFunctions> };
  readonly sparse: AllLater<SparseFunctions>;
  readonly special: AllLater<SpecialFunctions>;
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
