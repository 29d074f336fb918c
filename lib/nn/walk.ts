/** What a module and those in it have, by name. */
import { flagOf, ownOptions } from '../addon/options';
import { argumentError } from '../errors/errors';
import type { Tensor } from '../tensor/tensor';
import type { Module } from './module';

export interface WalkOptions {
  /** Put before each name. */
  prefix?: string | undefined;
  /** Whether to look into submodules. Default: true. */
  recurse?: boolean | undefined;
  /** Whether what has several names comes once, with its first name. Default: true. */
  removeDuplicate?: boolean | undefined;
}

export const walkOptions = (
  fn: string,
  options: WalkOptions | string,
  known: readonly (keyof WalkOptions)[] = ['prefix', 'recurse', 'removeDuplicate'],
): WalkOptions => {
  const given = ownOptions<WalkOptions>(fn, typeof options === 'string' ? { prefix: options } : options, known);
  demandPrefix(fn, given.prefix);
  flagOf(fn, 'recurse', given.recurse, true);
  flagOf(fn, 'removeDuplicate', given.removeDuplicate, true);
  return given;
};

export function demandPrefix(fn: string, prefix: unknown): void {
  if (prefix !== undefined && typeof prefix !== 'string') throw argumentError(fn, 'prefix', 'a string', prefix);
}

/** `recurse` of the methods that take nothing else. */
export const recursion = (fn: string, options: Pick<WalkOptions, 'recurse'> | boolean): boolean =>
  typeof options === 'boolean' ? options : flagOf(fn, 'recurse', ownOptions(fn, options, ['recurse']).recurse, true);

export const joined = (prefix: string, name: string) => (prefix === '' ? name : `${prefix}.${name}`);

/** The parameters or buffers that `own` gives for each module. */
export function found<T extends Tensor>(
  from: Module,
  own: (module: Module) => [string, T][],
  { prefix = '', recurse = true, removeDuplicate = true }: WalkOptions,
): [string, T][] {
  const seen = new Set<Tensor>();
  const found: [string, T][] = [];
  for (const [path, module] of recurse ? from._tree(prefix, removeDuplicate) : [[prefix, from] as [string, Module]]) {
    for (const [name, tensor] of own(module)) {
      if (removeDuplicate && seen.has(tensor)) continue;
      seen.add(tensor);
      found.push([joined(path, module._keyOf(name)), tensor]);
    }
  }
  return found;
}

/** Finds the entry with the name `target`. */
export function named<T>(from: Module, fn: string, target: string, what: string, list: [string, T][]): T {
  const found = list.find(([name]) => name === target);
  if (found === undefined) throw argumentError(fn, 'target', `the name of ${what} of ${from.constructor.name}`, target);
  return found[1];
}
