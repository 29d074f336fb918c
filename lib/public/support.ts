/** Helpers for public functions. */

import { warn } from '../call/warnings';
import { argumentError, refusal, type TorchError } from '../errors/errors';

export { refusal, warn };

/** The error for a refused argument, PyTorch's ValueError; `expected` says what to pass. */
export function refuse(fn: string, argument: string, expected: string, got: unknown): TorchError {
  return argumentError(fn, argument, expected, got);
}

export const sameShape = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((size, i) => size === b[i]);

export const product = (list: readonly number[]): number => list.reduce((all, size) => all * size, 1);

/** "[2, 3]" */
export const sizes = (shape: readonly number[]): string => `[${shape.join(', ')}]`;

/** Expands one number to `count` dimensions, or checks a list of `count` numbers. */
export const spread = <T>(list: readonly T[], count: number): T[] =>
  list.length === 1 ? new Array<T>(count).fill(list[0]!) : [...list];
