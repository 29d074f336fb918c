/** Arguments of schedulers: in Python's order, or by name in one options object at the end. */
import { byName, type Mixed } from '../../addon/options';
import { argumentError } from '../../errors/errors';
import { asUser } from '../../lifetimes/user-code';

/** Positions `P`, or names `O`, or the first positions and names. */
export type Given<P extends unknown[], O extends object> =
  | P
  | [options: O]
  | (Required<P> extends [unknown, ...unknown[]]
      ? P extends [unknown?, ...infer B]
        ? [first: P[0], ...rest: Mixed<B, Partial<O>>]
        : never
      : never);

export const at = (name: string): string => `optim.lrScheduler.${name}`;

/** The arguments by name; what was not passed has its default. `undefined` as a default: an argument that is required. */
export function read<O extends object>(
  fn: string,
  defaults: Readonly<Record<keyof O & string, unknown>>,
  passed: readonly unknown[],
): Required<O> {
  const names = Object.keys(defaults) as (keyof O & string)[];
  const given = byName(fn, ['optimizer', ...names], 1, [null, ...passed]);
  const all: Record<string, unknown> = { ...defaults };
  for (const name of names) if (given[name] !== undefined) all[name] = given[name];
  for (const name of names) if (all[name] === undefined) throw argumentError(fn, name, 'a value', undefined);
  return all as Required<O>;
}

type Kind = 'number' | 'integer' | 'boolean';
const is: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  number: (value) => typeof value === 'number' && !Number.isNaN(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
};
const words: Readonly<Record<Kind, string>> = { number: 'a number', integer: 'an integer', boolean: 'a boolean' };

/** Checks the kinds of arguments. */
export function demand(fn: string, args: object, kinds: Readonly<Record<string, Kind>>): void {
  for (const [name, kind] of Object.entries(kinds)) {
    const value = (args as Record<string, unknown>)[name];
    if (!is[kind](value)) throw argumentError(fn, name, words[kind], value);
  }
}

/** Refuses a value that Python refuses. */
export function demandThat(fn: string, holds: boolean, name: string, expected: string, value: unknown): void {
  if (!holds) throw argumentError(fn, name, expected, value);
}

/** One number for each group. */
export function perGroup(fn: string, name: string, value: unknown, groups: number): number[] {
  const list = Array.isArray(value) ? [...value] : new Array(groups).fill(value);
  const expected = `a number, or a list of ${groups}, one for each group`;
  if (list.length !== groups || !list.every(is.number)) throw argumentError(fn, name, expected, value);
  return list;
}

/** The number that a function of the program gives. */
export function resultOf(scheduler: object, name: string, call: () => unknown): number {
  const result = asUser(call);
  if (typeof result === 'number') return result;
  throw argumentError(at(scheduler.constructor.name), `${name}'s result`, 'a number', result);
}
