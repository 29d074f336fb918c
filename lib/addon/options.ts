/** The options objects of hand-written functions. */
import { types } from 'node:util';
import type { DTypeLike } from '../../types/base';
import { tooMany } from '../errors/arity';
import { isOfLibrary } from '../errors/copies';
import { argumentError, describe, refusal, type TorchError } from '../errors/errors';
import { didYouMean } from '../errors/suggest';
import { canonicalDtype, dtypeCodes } from './enums';

/** Built-in objects that are not options: those without own properties would pass as options without any. */
const builtIn: readonly ((value: unknown) => boolean)[] = [
  Array.isArray,
  types.isMap,
  types.isSet,
  types.isPromise,
  types.isDate,
  types.isRegExp,
  types.isArrayBufferView,
  types.isAnyArrayBuffer,
  types.isNativeError,
  types.isBoxedPrimitive,
];

/** Whether a value can be options. Arrays, Maps, promises, tensors and modules have properties too, but are mistakes. */
export const isOptions = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !builtIn.some((isBuiltIn) => isBuiltIn(value)) && !isOfLibrary(value);

/** The error for an unknown option, with a suggestion. */
export function unknownOption(fn: string, argument: string, name: string, known: readonly string[]): TorchError {
  const got = `'${name.slice(0, 60)}'${didYouMean(name, known)}`;
  const options = known.length === 1 ? `the option ${known[0]}` : `one of the options ${known.join(', ')}`;
  return refusal(fn, argument, options, got);
}

/** The hint for a dtype, a device, `strict` or the size of a batch in place of the options. */
function byNameHint(value: unknown, known: readonly string[]): string {
  if (typeof value === 'number' && known.includes('batchSize')) return `; options go by name: { batchSize: ${value} }`;
  if (typeof value === 'boolean' && known[0] === 'strict') return `; options go by name: { strict: ${value} }`;
  if (typeof value !== 'string') return '';
  const name = dtypeCodes.has(canonicalDtype(value as DTypeLike))
    ? 'dtype'
    : /^(?:cpu|cuda)(?::\d+)?$/.test(value)
      ? 'device'
      : undefined;
  return name !== undefined && known.includes(name) ? `; options go by name: { ${name}: '${value}' }` : '';
}

/** The first ones of the arguments `P` by position, or none, and the others by name. */
export type Mixed<P extends unknown[], N> =
  | [options: N]
  | (Required<P> extends [unknown, ...unknown[]]
      ? P extends [unknown?, ...infer B]
        ? [first: P[0], ...rest: Mixed<B, N>]
        : never
      : never);

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

/** A boolean, or `usual` if it is omitted. */
export function flagOf(fn: string, name: string, value: unknown, usual: boolean): boolean {
  if (value === undefined) return usual;
  if (typeof value !== 'boolean') throw argumentError(fn, name, 'a boolean', value);
  return value;
}

/** The longest time of Node's timers. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** The option `timeoutMs`, if it is there. */
export function timeoutOf(fn: string, value: unknown): number | undefined {
  if (value === undefined || (typeof value === 'number' && value >= 1 && value <= MAX_TIMEOUT_MS)) return value;
  throw argumentError(fn, 'timeoutMs', `a number of ms from 1 to ${MAX_TIMEOUT_MS}`, value);
}

/** Whether a value is an object literal, also of another realm; a tensor, a Proxy or an instance of a class is not. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || types.isProxy(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf'));
}

/**
 * Arguments that may be positional, in Python's order, or by name in one options object at the end. The first `required` ones
 * are never that object. `which` says in an error which arguments are counted.
 */
export function byName(
  fn: string,
  names: readonly string[],
  required: number,
  passed: readonly unknown[],
  which = '',
): Record<string, unknown> {
  let count = passed.length;
  while (count > 0 && passed[count - 1] === undefined) count--;
  const last = passed[count - 1];
  const options = count > required && isPlainObject(last) ? last : null;
  if (options !== null) count--;
  if (count > names.length) throw tooMany(fn, names.length, count, which);
  const values = Object.create(null) as Record<string, unknown>;
  for (let i = 0; i < count; i++) values[names[i]!] = passed[i];
  if (options === null) return values;
  for (const name of Object.keys(options)) {
    const place = names.indexOf(name);
    if (place < 0) throw unknownOption(fn, 'options', name, names.slice(required));
    const value = options[name];
    if (place < count && values[name] !== undefined) throw refusal(fn, name, 'a value by position or by name', 'both');
    values[name] = value;
  }
  return values;
}
