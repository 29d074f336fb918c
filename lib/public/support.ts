/** What public functions share. */
import { argumentError, refusal, type TorchError } from '../errors';
import { warn } from '../warnings';

export { refusal, warn };

/** A refused argument: PyTorch's ValueError, with what to do in `expected`. */
export function refuse(fn: string, argument: string, expected: string, got: unknown): TorchError {
  return argumentError(fn, argument, expected, got);
}

export const sameShape = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((size, i) => size === b[i]);

export const product = (list: readonly number[]): number => list.reduce((all, size) => all * size, 1);

/** "[2, 3]" */
export const sizes = (shape: readonly number[]): string => `[${shape.join(', ')}]`;

/** One number for each of `count` dimensions, from one for all or one for each. */
export const spread = <T>(list: readonly T[], count: number): T[] =>
  list.length === 1 ? new Array<T>(count).fill(list[0]!) : [...list];
