/** Arguments of samplers and of `randomSplit`: positional in Python's order, or by name in one trailing options object. */
import type { Generator } from '../../types/generated/classes';
import { NativeObject } from '../call/object';
import { argumentError, codedError, describe, type TorchError } from '../errors/errors';
import { isTypedArray } from '../tensor/nested';

export type { Generator } from '../../types/generated/classes';
export { flagOf } from '../addon/options';

export function countOf(fn: string, name: string, value: unknown): number {
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (!Number.isSafeInteger(number) || (number as number) < 1) {
    throw argumentError(fn, name, 'an integer of 1 or more', value);
  }
  return number as number;
}

export function generatorOf(fn: string, value: unknown): Generator | null {
  if (value === undefined || value === null) return null;
  if (!(value instanceof NativeObject) || value._class !== 'Generator') {
    throw argumentError(fn, 'generator', 'a torch.Generator', value);
  }
  return value as unknown as Generator;
}

/** The number of a dataset's samples. */
export function lengthOf(fn: string, name: string, dataset: unknown): number {
  // Functions and strings have a length too, but are mistakes.
  const length = typeof dataset === 'object' ? (dataset as { length?: unknown } | null)?.length : undefined;
  if (!Number.isSafeInteger(length) || (length as number) < 0) {
    if (length === undefined) throw argumentError(fn, name, 'an object with a length', dataset);
    throw argumentError(fn, `${name}.length`, 'an integer of 0 or more', length);
  }
  return length as number;
}

/** Python's IndexError, with the code that indexing of tensors has. */
export function indexError(fn: string, length: number, index: unknown): TorchError {
  const expected = length === 0 ? 'no index, since there are no samples' : `an index from ${-length} to ${length - 1}`;
  return codedError(RangeError, 'ERR_TORCH_INDEX', `${fn}: expected ${expected}, got ${describe(index)}`);
}

/** The place of a sample among `length` samples; negative indices count from the end. A bigint is an index too. */
export function placeOf(fn: string, length: number, index: unknown): number {
  const at = typeof index === 'bigint' ? Number(index) : index;
  if (Number.isInteger(at)) {
    const place = (at as number) < 0 ? length + (at as number) : (at as number);
    if (place >= 0 && place < length) return place;
  }
  throw indexError(fn, length, index);
}

/** The indices of a batch, as `getItems` takes them. */
export function demandIndices(fn: string, indices: unknown): asserts indices is ArrayLike<unknown> {
  if (!Array.isArray(indices) && !isTypedArray(indices))
    throw argumentError(`${fn}.getItems`, 'indices', 'a list of indices', indices);
}

/** The containers around a value, innermost first. */
export interface Around {
  readonly container: object;
  readonly next: Around | null;
}

/** The containers around the elements of `container`. Throws if it is one of those around itself. */
export function within(fn: string, argument: string, container: object, around: Around | null): Around {
  for (let at = around; at !== null; at = at.next) {
    if (at.container !== container) continue;
    throw argumentError(fn, argument, 'values that do not contain themselves', container);
  }
  return { container, next: around };
}

/** Sets an own property, also for a key such as `__proto__`. */
export const define = (object: object, key: string, value: unknown): void => {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
};
