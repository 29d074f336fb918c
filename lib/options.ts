/** The options objects of hand-written functions. */
import { types } from 'node:util';
import type { DTypeLike } from '../types/base';
import { canonicalDtype, dtypeCodes } from './enums';
import { argumentError, describe, refusal, type TorchError } from './errors';
import { didYouMean } from './suggest';

/** Whether a value can be options: an array, a Map and a promise have properties too, and none of them is meant. */
export const isOptions = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !types.isMap(value) &&
  !types.isPromise(value);

/** The error of an option that there is not, with the one that was meant, perhaps. */
export function unknownOption(fn: string, argument: string, name: string, known: readonly string[]): TorchError {
  const got = `'${name.slice(0, 60)}'${didYouMean(name, known)}`;
  return refusal(fn, argument, `options among ${known.join(', ')}`, got);
}

/** For a dtype or a device that stands where Python has it, too, by its name alone. */
function byNameHint(value: unknown, known: readonly string[]): string {
  if (typeof value !== 'string') return '';
  const name = dtypeCodes.has(canonicalDtype(value as DTypeLike))
    ? 'dtype'
    : /^(?:cpu|cuda)(?::\d+)?$/.test(value)
      ? 'device'
      : undefined;
  return name !== undefined && known.includes(name) ? `; options go by name: { ${name}: '${value}' }` : '';
}

/** The options' own properties: what a program put on Object.prototype is no option of this call. Unknown ones are refused. */
export function ownOptions<T extends object>(fn: string, options: T, known: readonly (keyof T & string)[]): T {
  if (!isOptions(options)) {
    const hint = byNameHint(options, known);
    if (hint === '') throw argumentError(fn, 'options', 'an object', options);
    throw refusal(fn, 'options', 'an object', describe(options) + hint);
  }
  for (const name of Object.keys(options)) {
    if (!(known as readonly string[]).includes(name)) throw unknownOption(fn, 'options', name, known);
  }
  return Object.assign(Object.create(null), options);
}
