/** Constructor arguments of modules: positional in Python's order, or by name in one trailing options object. */
import type { DTypeLike } from '../../types/base';
import { canonicalDtype, dtypeCodes } from '../addon/enums';
import { byName, type Mixed } from '../addon/options';
import { argumentError } from '../errors/errors';
import { isTypedArray } from '../tensor/nested';
import { bare } from '../tensor/second-name';
import { isTensor, type Tensor } from '../tensor/tensor';
import { pythonBoolean, pythonFloat, pythonNumbers, pythonText } from './python';

/** A kind of argument. */
export interface Kind<T> {
  /** For messages. */
  readonly expected: string;
  readonly required: boolean;
  /** The default. */
  readonly value: T | undefined;
  /** Whether the module owns the value as a buffer. */
  readonly buffer?: boolean;
  /** The value to use, or undefined for one that is refused. */
  convert(value: unknown): T | undefined;
  /** The value as Python prints it. */
  text(value: T): string;
}

export type Spec = Readonly<Record<string, Kind<any>>>;
export type Values<S extends Spec> = { -readonly [K in keyof S]: S[K] extends Kind<infer T> ? T : never };
/** The values by name, as the program passes them. */
export type Named<S extends Spec> = { [K in keyof S]?: Passed<S[K]> | undefined };
type Passed<K> = K extends Kind<infer T> ? (T extends number[] ? T | number : T) : never;

/** The arguments of a constructor: the tuple `P`, or the first ones of it and the others by name. */
export type Args<P extends unknown[], S extends Spec> = P | Mixed<P, Named<S>>;

/** Makes a kind: `text` is the value as Python prints it. */
export function kind<T>(
  expected: string,
  value: T | undefined,
  convert: (value: unknown) => T | undefined,
  text: (value: T) => string,
): Kind<T> {
  return { expected, required: value === undefined, value, convert, text };
}

const integerOf = (value: unknown): number | undefined => {
  const number = typeof value === 'bigint' ? Number(value) : value;
  return Number.isSafeInteger(number) ? (number as number) : undefined;
};
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

export const int = (value?: number): Kind<number> => kind('an integer', value, integerOf, String);
/** A number that Python's default writes as a float: 1 prints as 1.0. */
export const float = (value?: number): Kind<number> => kind('a number', value, numberOf, pythonFloat);
/** A number that prints as it is passed. */
export const num = (value?: number): Kind<number> =>
  kind('a number', value, numberOf, (n) => (Number.isInteger(n) ? String(n) : pythonFloat(n)));
export const flag = (value?: boolean): Kind<boolean> =>
  kind('a boolean', value, (given) => (typeof given === 'boolean' ? given : undefined), pythonBoolean);

/** A string, one of `options` if there are any. */
export const text = <T extends string = string>(value?: T, options?: readonly T[]): Kind<T> =>
  kind(
    options === undefined ? 'a string' : `one of ${options.map((option) => `'${option}'`).join(', ')}`,
    value,
    (given) => (typeof given === 'string' && (options?.includes(given as T) ?? true) ? (given as T) : undefined),
    pythonText,
  );

function integersOf(given: unknown, least: number, most: number): number[] | undefined {
  const array = Array.isArray(given) ? (given as unknown[]) : isTypedArray(given) ? Array.from<unknown>(given) : null;
  if (array === null || array.length < least || array.length > most) return undefined;
  const list = array.map(integerOf);
  return list.includes(undefined) ? undefined : (list as number[]);
}

/** `count` integers; one integer stands for all. */
export const ints = (count: number, value?: number): Kind<number[]> =>
  kind(
    `an integer or a list of ${count}`,
    value === undefined ? undefined : new Array<number>(count).fill(value),
    (given) => {
      const one = integerOf(given);
      return one === undefined ? integersOf(given, count, count) : new Array<number>(count).fill(one);
    },
    pythonNumbers,
  );

/** An integer or a list of 1 to `count`, which stays as it is passed. */
export const intOrInts = (count: number, value?: number): Kind<number | number[]> =>
  kind(
    count === 1 ? 'an integer' : `an integer or a list of ${count}`,
    value,
    (given) => integerOf(given) ?? integersOf(given, 1, count),
    pythonNumbers,
  );

/** A list of integers of any length; one integer is a list of one. */
export const intList = (): Kind<number[]> =>
  kind<number[]>(
    'an integer or a list of integers',
    undefined,
    (given) => {
      const one = integerOf(given);
      return one === undefined ? integersOf(given, 0, Number.POSITIVE_INFINITY) : [one];
    },
    pythonNumbers,
  );

/** Numbers that need not be integers: one, or a list. */
export const numOrNums = (value?: number): Kind<number | number[]> =>
  kind<number | number[]>(
    'a number or a list of numbers',
    value,
    (given) => {
      if (typeof given === 'number') return given;
      return Array.isArray(given) && given.every((one) => typeof one === 'number') ? [...given] : undefined;
    },
    pythonNumbers,
  );

/** A kind that takes the values of `inner`, and null. Null is its default, if `inner` has none. */
export function orNull<T>(inner: Kind<T>): Kind<T | null> {
  return {
    ...inner,
    expected: `${inner.expected}, or null`,
    required: false,
    value: inner.value ?? null,
    convert: (value) => (value === null ? null : inner.convert(value)),
    text: (value) => (value === null ? 'None' : inner.text(value)),
  };
}

/** A tensor, or null by default. */
export const tensor: Kind<Tensor | null> = orNull(
  kind<Tensor>(
    'a Tensor',
    undefined,
    (value) => (isTensor(value) ? bare(value) : undefined),
    () => '',
  ),
);
/** A tensor that the module owns as a buffer, or null by default. */
export const buffer: Kind<Tensor | null> = { ...tensor, buffer: true };

export const fn = <T extends (...args: any[]) => any>(): Kind<T> =>
  kind<T>(
    'a function',
    undefined,
    (value) => (typeof value === 'function' ? (value as T) : undefined),
    () => '',
  );

export type Device = string | null;

/** `device` and `dtype` of the parameters: the last two arguments of modules that have parameters. */
export const factory = {
  device: orNull(text()),
  dtype: orNull(
    kind<DTypeLike>(
      'a dtype',
      undefined,
      (value) => (dtypeCodes.has(canonicalDtype(value as DTypeLike)) ? (value as DTypeLike) : undefined),
      String,
    ),
  ),
};
export interface Factory {
  readonly device: Device;
  readonly dtype: DTypeLike | null;
}

/** Options for ops that make tensors. */
export function made({ device, dtype }: Factory): Record<string, unknown> {
  return { ...(device === null ? {} : { device }), ...(dtype === null ? {} : { dtype }) };
}

export const nameOf = (module: string): string => (module.startsWith('optim.') ? module : `nn.${module}`);

/** The values of a constructor's arguments. */
export function read<S extends Spec>(module: string, spec: S, passed: readonly unknown[]): Values<S> {
  const at = nameOf(module);
  const names = Object.keys(spec);
  const given = byName(at, names, 0, passed);
  const values: Record<string, unknown> = {};
  for (const name of names) {
    const of = spec[name]!;
    const value = given[name];
    if (value === undefined) {
      if (of.required) throw argumentError(at, name, of.expected, undefined);
      values[name] = Array.isArray(of.value) ? [...of.value] : of.value;
      continue;
    }
    const converted: unknown = of.convert(value);
    if (converted === undefined) throw argumentError(at, name, of.expected, value);
    values[name] = converted;
  }
  return values as Values<S>;
}
