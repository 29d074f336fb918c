/** Arguments of samplers and of `randomSplit`: positional in Python's order, or by name in one trailing options object. */
import { types } from 'node:util';
import { unknownOption } from '../addon/options';
import type { classes } from '../call/classes';
import { NativeObject } from '../call/object';
import { argumentError, codedError, describe, type TorchError } from '../errors/errors';

export type Generator = InstanceType<typeof classes.Generator>;

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || types.isProxy(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  // Also objects of another realm.
  return prototype === null || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf'));
}

/** The arguments by name. The first `required` ones are never an options object. */
export function byName(
  fn: string,
  names: readonly string[],
  required: number,
  passed: readonly unknown[],
): Record<string, unknown> {
  let count = passed.length;
  while (count > 0 && passed[count - 1] === undefined) count--;
  const last = passed[count - 1];
  const options = count > required && isPlainObject(last) ? last : null;
  if (options !== null) count--;
  if (count > names.length) {
    const message = `${fn}: takes at most ${names.length} arguments, got ${count}`;
    throw Object.assign(codedError(TypeError, 'ERR_TORCH_ARGUMENT', message), { op: fn });
  }
  const values = Object.create(null) as Record<string, unknown>;
  for (let i = 0; i < count; i++) values[names[i]!] = passed[i];
  if (options === null) return values;
  for (const name of Object.keys(options)) {
    const place = names.indexOf(name);
    if (place < 0) throw unknownOption(fn, 'options', name, names);
    const value = options[name];
    if (place < count && values[name] !== undefined) throw argumentError(fn, name, 'to be passed once', value);
    values[name] = value;
  }
  return values;
}

export function flagOf(fn: string, name: string, value: unknown, usual: boolean): boolean {
  if (value === undefined) return usual;
  if (typeof value !== 'boolean') throw argumentError(fn, name, 'a boolean', value);
  return value;
}

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
  const length = (dataset as { length?: unknown } | null | undefined)?.length;
  if (!Number.isSafeInteger(length) || (length as number) < 0) {
    throw argumentError(fn, name, 'an object with a length', dataset);
  }
  return length as number;
}

/** Python's IndexError, with the code that indexing of tensors has. */
export function indexError(fn: string, length: number, index: unknown): TorchError {
  const expected = length === 0 ? 'no index, since there are no samples' : `an index from ${-length} to ${length - 1}`;
  return codedError(RangeError, 'ERR_TORCH_INDEX', `${fn}: expected ${expected}, got ${describe(index)}`);
}

/** Sets an own property, also for a key such as `__proto__`. */
export const define = (object: object, key: string, value: unknown): void => {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
};
