/** torch/nn/_reduction.py: how a loss is reduced, by name or in the older way by two booleans. */
import type { Tensor } from '../../tensor';
import { refuse, warn } from '../support';

/** A boolean of the older way; null where it is not given. */
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

/** The name, where `sizeAverage` or `reduce` may say it in the older way. */
export function reductionName(sizeAverage: Flag, reduce: Flag, reduction: string): string {
  if (sizeAverage === null && reduce === null) return reduction;
  const name = reduce === false ? 'none' : sizeAverage === false ? 'sum' : 'mean';
  warn(`sizeAverage and reduce args will be deprecated, please use { reduction: '${name}' } instead.`);
  return name;
}

/** Both at once. */
export const reductionOf = (fn: string, sizeAverage: Flag, reduce: Flag, reduction: string) =>
  reductionNumber(fn, reductionName(sizeAverage, reduce, reduction));

/** A loss that was computed element by element, reduced. */
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
