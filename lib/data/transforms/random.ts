/** The random numbers of transforms: of the sample's generator, or the default one. */
import { ops } from '../../autograd/tuples';
import { NativeObject } from '../../call/object';
import { argumentError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import { isTensor, type Tensor } from '../../tensor/tensor';
import type { Generator } from '../arguments';

/** What `getItem` gets as `context`, or any object with a generator. */
export interface Drawing {
  readonly generator?: Generator | null | undefined;
}

/** A Generator itself has no generator: without the check it would be replaced by the default one. */
function from(drawing: Drawing | undefined): object {
  if (drawing === undefined || drawing === null) return {};
  if (typeof drawing !== 'object' || drawing instanceof NativeObject || isTensor(drawing)) {
    const expected = "a sample's context, or an object { generator }";
    throw argumentError('utils.data.transforms', 'context', expected, drawing);
  }
  const { generator } = drawing;
  return generator === undefined || generator === null ? {} : { generator };
}

const drawn = (make: () => Tensor): number => ownScope(() => Number(make().item()));

/** An integer from 0 to limit - 1. */
export const below = (limit: number, drawing?: Drawing): number =>
  drawn(() => ops().randint!(0, limit, [1], { dtype: 'int64', ...from(drawing) }));

/** Whether an event of probability `p` happens. */
export const chance = (p: number, drawing?: Drawing): boolean => drawn(() => ops().rand!([1], from(drawing))) < p;

/** A number of [low, high). */
export const uniform = (low: number, high: number, drawing?: Drawing): number =>
  drawn(() => ops().empty!([1]).uniform_(low, high, from(drawing) as never) as Tensor);

/** The numbers from 0 to n - 1 in random order. */
export const permuted = (n: number, drawing?: Drawing): number[] =>
  ownScope(() =>
    Array.from(ops().randperm!(n, { dtype: 'int64', ...from(drawing) }).toTypedArray() as BigInt64Array, Number),
  );
