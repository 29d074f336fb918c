/**
 * A call in the form of its site's last call, for ops that return one new tensor: the same result as lib/call/call-cache.ts,
 * in fewer steps and without an array of values.
 */
import { Kind, Plain } from '../generated/codes';
import { mayBeOptions, type ReadCall, readOptions, readValue } from '../tensor/reading';
import { isGenuine, Tensor, wrap } from '../tensor/tensor';
import { type Candidate, DEFAULT, FIRST_OPTION, NO, quick, SELF, type Site, sameNames, UNSURE } from './call-cache';
import { numberTensor, packed } from './packed';
import { isInteger } from './plain';
import type { Param } from './signature';

/** The largest number of options and of parameters. */
const MAX_KEYS = 3;
const MAX_PARAMS = 6;

/** How a value is tested and converted; `Other` is left to quick(). */
enum Test {
  Other,
  Tensor,
  NumberTensor,
  Number,
  Integer,
  Boolean,
  Ints,
  Gathered,
}

/** How the first overload takes calls of a form. */
export interface Plan {
  /** The number of positional arguments. */
  readonly count: number;
  readonly number: number;
  readonly params: readonly Param[];
  readonly sources: readonly number[];
  readonly defaults: readonly unknown[];
  readonly tests: readonly Test[];
  /** The number of values to pass; the others are omitted. */
  readonly arity: number;
}

function testOf({ type }: Param): Test {
  if (type.list) return type.base === Kind.Int && !type.elementNullable ? Test.Ints : Test.Other;
  if (type.nullable) return Test.Other;
  if (type.base === Kind.NumberTensor) return Test.NumberTensor;
  switch (type.plain) {
    case Plain.Tensor:
      return Test.Tensor;
    case Plain.Number:
      return Test.Number;
    case Plain.Integer:
      return Test.Integer;
    case Plain.Boolean:
      return Test.Boolean;
    default:
      return Test.Other;
  }
}

export function planOf(candidate: Candidate | null, count: number, keys: readonly string[]): Plan | null {
  if (candidate === null || keys.length > MAX_KEYS || candidate.requiresGrad >= 0) return null;
  const { signature, sources, defaults, gathers } = candidate;
  const { params, number, wraps } = signature;
  if (!wraps || number < 0 || params.length > MAX_PARAMS || count + keys.length === 0) return null;
  let arity = params.length;
  while (arity > 0 && sources[arity - 1] === DEFAULT && defaults[arity - 1] === null) arity--;
  const tests = params.map((param, i) => (gathers && sources[i]! >= 0 ? Test.Gathered : testOf(param)));
  return { count, number, params, sources, defaults, tests, arity };
}

/** A call that was read, and is left to the forms. */
export class Read implements ReadCall {
  constructor(
    readonly positional: readonly unknown[],
    readonly keys: readonly string[] | null,
    readonly values: readonly unknown[],
  ) {}
}

function leave(passed: ArrayLike<unknown>, count: number, keys: readonly string[], values: readonly unknown[]): Read {
  const positional = new Array<unknown>(count);
  for (let i = 0; i < count; i++) positional[i] = passed[i];
  return new Read(positional, keys.length > 0 ? keys : null, values);
}

/** The same when the object at the end turned out to have other properties: they are read now. */
function leaveUnread(passed: ArrayLike<unknown>, count: number, keys: readonly string[]): Read {
  const { positional } = leave(passed, count, keys, []);
  const read = readOptions(positional as unknown[], passed[count] as object, keys);
  return new Read(read.positional, read.keys, read.values);
}

/**
 * The result; or undefined if it is another form, and then no code of the program has run but traps of a Proxy; or the call
 * as it was read, if its values have to be examined more closely. `f`: the native functions.
 */
export function callAgain(
  { last: form, method }: Site,
  f: readonly ((...values: unknown[]) => unknown)[],
  passed: ArrayLike<unknown>,
  self: unknown,
): Tensor | null | Read | undefined {
  if (form === null || form.plan === null) return undefined;
  const { count, keys, plan } = form;
  const { length } = keys;
  if (passed.length !== (length === 0 ? count : count + 1)) return undefined;
  if (method && !isGenuine(self)) return undefined;
  for (let i = 0; i < count; i++) {
    const value = passed[i];
    if (value === undefined || (typeof value === 'object' && value !== null && !isGenuine(value))) return undefined;
  }
  let a: unknown;
  let b: unknown;
  let c: unknown;
  if (length > 0) {
    const options = passed[count] as Record<string, unknown>;
    if (!mayBeOptions(options) || Object.getPrototypeOf(options) !== Object.prototype) return undefined;
    const given = Object.keys(options);
    if (!sameNames(given, keys)) return leaveUnread(passed, count, given);
    a = readValue(options[keys[0]!]);
    if (length > 1) b = readValue(options[keys[1]!]);
    if (length > 2) c = readValue(options[keys[2]!]);
  }
  // From here on no code of the program runs.
  const { arity, number } = plan;
  const v0 = convertedAt(plan, 0, passed, self, a, b, c);
  const v1 = arity > 1 ? convertedAt(plan, 1, passed, self, a, b, c) : null;
  const v2 = arity > 2 ? convertedAt(plan, 2, passed, self, a, b, c) : null;
  const v3 = arity > 3 ? convertedAt(plan, 3, passed, self, a, b, c) : null;
  const v4 = arity > 4 ? convertedAt(plan, 4, passed, self, a, b, c) : null;
  const v5 = arity > 5 ? convertedAt(plan, 5, passed, self, a, b, c) : null;
  if (v0 === NO || v1 === NO || v2 === NO || v3 === NO || v4 === NO || v5 === NO) {
    return leave(passed, count, keys, [a, b, c].slice(0, length));
  }
  const op = f[number]!;
  switch (arity) {
    case 1:
      return wrap(op(v0));
    case 2:
      return wrap(op(v0, v1));
    case 3:
      return wrap(op(v0, v1, v2));
    case 4:
      return wrap(op(v0, v1, v2, v3));
    case 5:
      return wrap(op(v0, v1, v2, v3, v4));
    default:
      return wrap(op(v0, v1, v2, v3, v4, v5));
  }
}

/** The converted value of a parameter; NO if it is not one that this file decides. */
function convertedAt(
  { count, sources, defaults, tests, params }: Plan,
  at: number,
  passed: ArrayLike<unknown>,
  self: unknown,
  a: unknown,
  b: unknown,
  c: unknown,
): unknown {
  const source = sources[at]!;
  if (source === DEFAULT) return defaults[at];
  const value =
    source >= 0
      ? passed[source]
      : source === SELF
        ? self
        : source === FIRST_OPTION
          ? a
          : source === FIRST_OPTION - 1
            ? b
            : c;
  switch (tests[at]) {
    case Test.Tensor:
      return value instanceof Tensor ? value._handle : NO;
    case Test.NumberTensor:
      if (typeof value === 'number') return numberTensor(value);
      return value instanceof Tensor ? value._handle : NO;
    case Test.Number:
      return typeof value === 'number' ? value : NO;
    case Test.Integer:
      return isInteger(value) ? value : NO;
    case Test.Boolean:
      return typeof value === 'boolean' ? value : NO;
    case Test.Gathered:
      return gathered(passed, count);
    default:
      return other(value, params[at]!, tests[at] === Test.Ints);
  }
}

/** Integers as one list. */
function gathered(passed: ArrayLike<unknown>, count: number): unknown {
  const list = new Array<number>(count);
  for (let i = 0; i < count; i++) {
    const value = passed[i];
    if (!isInteger(value)) return NO;
    list[i] = value;
  }
  return packed(list);
}

function other(value: unknown, param: Param, packs: boolean): unknown {
  const converted = quick(value, param);
  if (converted === UNSURE) return NO;
  return packs && Array.isArray(converted) ? packed(converted as number[]) : converted;
}
