/** torch/nn/_reduction.py: the reduction of a loss, by name or by the two deprecated booleans. */
import type { Tensor } from '../../tensor/tensor';
import { refuse, warn } from '../support';

/** A deprecated boolean; null if omitted. */
export type Flag = boolean | null;

/** at::Reduction */
const numbers = new Map([
  ['none', 0],
  ['mean', 1],
  ['sum', 2],
]);

/** The op's number of a reduction. */
export function reductionNumber(fn: string, reduction: string): number {
  const number = numbers.get(reduction);
  if (number === undefined) throw refuse(fn, 'reduction', "'none', 'mean' or 'sum'", reduction);
  return number;
}

/** The name, from `reduction` or the deprecated `sizeAverage` and `reduce`. */
export function reductionName(sizeAverage: Flag, reduce: Flag, reduction: string): string {
  if (sizeAverage === null && reduce === null) return reduction;
  const name = reduce === false ? 'none' : sizeAverage === false ? 'sum' : 'mean';
  warn(`sizeAverage and reduce args will be deprecated, please use { reduction: '${name}' } instead.`);
  return name;
}

/** The op's number, from the name and the deprecated booleans. */
export const reductionOf = (fn: string, sizeAverage: Flag, reduce: Flag, reduction: string) =>
  reductionNumber(fn, reductionName(sizeAverage, reduce, reduction));

/** Reduces an elementwise loss. */
export function reduced(fn: string, loss: Tensor, reduction: string): Tensor {
  switch (reductionNumber(fn, reduction)) {
    case 1:
      return loss.mean();
    case 2:
      return loss.sum();
    default:
      return loss;
  }
}
