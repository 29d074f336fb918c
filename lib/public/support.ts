/** Helpers for public functions. */

import { warn } from '../call/warnings';
import { argumentError, refusal, type TorchError } from '../errors/errors';
import type { Tensor } from '../tensor/tensor';

export { refusal, warn };

/** The ERR_TORCH_ARGUMENT error for an argument that PyTorch rejects with ValueError. The caller throws it. */
export function refuse(fn: string, argument: string, expected: string, got: unknown): TorchError {
  return argumentError(fn, argument, expected, got);
}

export const sameShape = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((size, i) => size === b[i]);

export const product = (list: readonly number[]): number => list.reduce((all, size) => all * size, 1);

/** "[2, 3]" */
export const sizes = (shape: readonly number[]): string => `[${shape.join(', ')}]`;

/** Repeats a single element `count` times; copies any other list, whose length the caller checks. */
export const spread = <T>(list: readonly T[], count: number): T[] =>
  list.length === 1 ? new Array<T>(count).fill(list[0]!) : [...list];

/**
 * The result of an op that may write into `out`. It is `out` itself: a Proxy around that tensor, which the op gives back, runs code
 * of the program when it is accessed.
 */
export function withOut(out: Tensor | null, op: (...options: { out: Tensor }[]) => unknown): Tensor {
  if (out === null) return op() as Tensor;
  op({ out });
  return out;
}
