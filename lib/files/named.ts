/** Tensors by name, as `safetensors` and `npz` save them. */
import { isPlainObject } from '../addon/options';
import { argumentError, describe, refusal } from '../errors/errors';
import { isTensor } from '../tensor/tensor';

/**
 * Refuses what has no tensors by name. Without it a Map, or a Promise that was not awaited, is saved as nothing; an object of a
 * class may have some.
 */
export function demandNamed(fn: string, argument: string, expected: string, named: unknown): void {
  const isObject = typeof named === 'object' && named !== null && !isTensor(named);
  if (isObject && (Array.isArray(named) || isPlainObject(named) || Object.keys(named).length > 0)) return;
  throw argumentError(fn, argument, expected, named);
}

/** The most bytes of a name in a zip. */
const MAX_BYTES = 65_535;

/** Refuses a name that a file would have as another one, half of a surrogate pair, or that a zip cannot have. */
export function demandName(fn: string, argument: string, name: string, suffix = ''): void {
  const bytes = Buffer.from(name);
  if (bytes.toString() !== name)
    throw refusal(fn, argument, 'names of Unicode text', `${describe(name)} with half a pair`);
  if (bytes.length + suffix.length > MAX_BYTES && suffix !== '') {
    const most = MAX_BYTES - suffix.length;
    throw refusal(fn, argument, `names of at most ${most} bytes`, `one of ${bytes.length}: ${describe(name)}`);
  }
}
