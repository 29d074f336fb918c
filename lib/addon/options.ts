/** The options objects of hand-written functions. */
import { types } from 'node:util';
import type { DTypeLike } from '../../types/base';
import { argumentError, describe, refusal, type TorchError } from '../errors/errors';
import { didYouMean } from '../errors/suggest';
import { canonicalDtype, dtypeCodes } from './enums';

/** Whether a value can be options. Arrays, Maps and promises have properties too, but are mistakes. */
export const isOptions = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !types.isMap(value) &&
  !types.isPromise(value);

/** The error for an unknown option, with a suggestion. */
export function unknownOption(fn: string, argument: string, name: string, known: readonly string[]): TorchError {
  const got = `'${name.slice(0, 60)}'${didYouMean(name, known)}`;
  return refusal(fn, argument, `options among ${known.join(', ')}`, got);
}

/** The hint for a dtype or a device in place of the options. */
function byNameHint(value: unknown, known: readonly string[]): string {
  if (typeof value !== 'string') return '';
  const name = dtypeCodes.has(canonicalDtype(value as DTypeLike))
    ? 'dtype'
    : /^(?:cpu|cuda)(?::\d+)?$/.test(value)
      ? 'device'
      : undefined;
  return name !== undefined && known.includes(name) ? `; options go by name: { ${name}: '${value}' }` : '';
}

/** The own properties of the options, without those of Object.prototype. Refuses unknown ones. */
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
