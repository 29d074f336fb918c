/** The random numbers of transforms: of the sample's generator, or the default one. */
import { ops } from '../../autograd/tuples';
import { ownScope } from '../../lifetimes/scope';
import type { Tensor } from '../../tensor/tensor';
import type { Generator } from '../arguments';

/** What `getItem` gets as `context`, or any object with a generator. */
export interface Drawing {
  readonly generator?: Generator | null | undefined;
}

const from = (drawing: Drawing | undefined): object =>
  drawing?.generator == null ? {} : { generator: drawing.generator };

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
