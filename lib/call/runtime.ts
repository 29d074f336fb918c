/** Runs ops: calls native functions by number and converts their results. Generated wrappers call this. */

import { dtypeName } from '../addon/enums';
import { type Native, type NativeOp, native } from '../addon/native';
import { rowCount } from '../addon/wrappers';
import { argumentError } from '../errors/errors';
import { Complex } from '../errors/values';
import { Flag, Kind, RecordingMode } from '../generated/codes';
import { PendingValue } from '../tensor/pending';
import { type ReadCall, readCall } from '../tensor/reading';
import { requiring } from '../tensor/requiring';
import { asGiven, bare } from '../tensor/second-name';
import { isTensor, notThis, type Tensor, wrap, wrapElement } from '../tensor/tensor';
import { callAgain, Read } from './again';
import { boundByForm, type Site, siteOf } from './call-cache';
import { NativeObject } from './object';
import { type Bound, parse } from './parse';
import { camelCase, type Result, signature } from './signature';

/** The native functions by row number, each created on its first call. */
export const f: NativeOp[] = Array.from({ length: rowCount }, (_, row) => (...args: unknown[]) => {
  const op = native.ops(row);
  f[row] = op;
  return op(...args);
});

/** `one` makes a Tensor of the native value. */
function convertResult(value: unknown, { type }: Result, one: typeof wrap): unknown {
  if (type.list && type.base === Kind.Tensor) return (value as unknown[]).map(wrapElement);
  switch (type.base) {
    case Kind.Tensor:
    case Kind.Storage:
      return one(value);
    case Kind.Dtype:
      return dtypeName(value as number);
    case Kind.Scalar:
      return typeof value === 'object' && value !== null
        ? new Complex((value as Complex).re, (value as Complex).im)
        : value;
    default:
      return value;
  }
}

/** The results of a row: a single value, or an array whose named elements are properties too. */
export function results(number: number, value: unknown, given: readonly unknown[] = []): unknown {
  const list = signature(number).results;
  if (list.length === 0) return undefined;
  if (native.flags[Flag.Recording] === RecordingMode.RecordedValue)
    return new PendingValue(native.result[0]!, number, given);
  if (list.length === 1) return resultOf(list[0]!, value, given, wrap);
  const array = list.map((result, i) => resultOf(result, (value as unknown[] | undefined)?.[i], given, wrapElement));
  list.forEach(({ jsName }, i) => {
    if (jsName !== '') Object.defineProperty(array, jsName, { value: array[i], writable: true });
  });
  return array;
}

const resultOf = (result: Result, raw: unknown, given: readonly unknown[], one: typeof wrap): unknown =>
  result.argument >= 0 ? asGiven(given[result.argument]) : convertResult(raw, result, one);

/** Calls the op of a bound call. */
export function run({ signature: { number, wraps }, values, given, requiresGrad }: Bound): unknown {
  const raw = callNative(f[number]!, values);
  const result = wraps ? wrap(raw) : results(number, raw, given);
  return requiresGrad ? requiring(result as Tensor) : result;
}

/** Like the fast paths: native code reads omitted arguments as null. A spread costs more than a call. */
function callNative(op: NativeOp, values: readonly unknown[]): unknown {
  let count = values.length;
  while (count > 0 && values[count - 1] === null) count--;
  switch (count) {
    case 1:
      return op(values[0]);
    case 2:
      return op(values[0], values[1]);
    case 3:
      return op(values[0], values[1], values[2]);
    case 4:
      return op(values[0], values[1], values[2], values[3]);
    case 5:
      return op(values[0], values[1], values[2], values[3], values[4]);
    default:
      return op(...values.slice(0, count));
  }
}

/** All overloads of a function, for callFunction: created on the first call that no fast path took. */
export const functionSite = (name: string, numbers: readonly number[]): Site => siteOf(name, numbers.map(signature));

/** The same for a method, for callMethod. */
export const methodSite = (name: string, numbers: readonly number[]): Site =>
  siteOf(name, numbers.map(signature), true);

/** One overload in its raw form, for callRaw. */
export const rawSite = (number: number): Site =>
  siteOf(`aten::${signature(number).name}`, [signature(number)], false, true);

/** Binds a call to the overload that fits. */
export function bound(site: Site, call: ReadCall, self?: Tensor): Bound {
  return boundByForm(site, call, self) ?? parse(site.name, site.candidates, call, self, site.raw);
}

/** A call of a function that no fast path took. */
export function callFunction(site: Site, passed: ArrayLike<unknown>): unknown {
  const again = callAgain(site, f, passed, undefined);
  if (again !== undefined && !(again instanceof Read)) return again;
  return run(bound(site, again ?? readCall(passed)));
}

/** A call of a method that no fast path took. */
export function callMethod(site: Site, self: Tensor, passed: ArrayLike<unknown>): unknown {
  const again = callAgain(site, f, passed, self);
  if (again !== undefined && !(again instanceof Read)) return again;
  if (!isTensor(self)) throw notThis(site.name, self);
  return run(bound(site, again ?? readCall(passed), bare(self)));
}

/** torch.ops: exactly one overload, names as in the schema. */
export const callRaw = callFunction;

/** By op number. Cached, since V8 aborts if it compiles a regular expression with almost no stack left. */
const names = new Map<number, string>();

/** The JavaScript name: 'Generator.manualSeed', 'Generator'. */
function nameOf(number: number): string {
  const known = names.get(number);
  if (known !== undefined) return known;
  const name = camelCase(signature(number).name).replace(/\.new$/, '');
  names.set(number, name);
  return name;
}

/** `new torch.Generator(…)`: called by the generated class's constructor. */
export function construct(number: number, passed: ArrayLike<unknown>): { handle: number; guard: unknown } {
  const only = signature(number);
  const guard = f[number]!(...parse(nameOf(number), [only], readCall(passed)).values) as readonly [number];
  return { handle: guard[0], guard };
}

/** A method of a generated class. */
export function callObject(number: number, self: NativeObject, passed: ArrayLike<unknown>): unknown {
  if (!(self instanceof NativeObject)) {
    throw argumentError(signature(number).name, 'this', 'an object of libtorch', self);
  }
  self._live();
  const only = signature(number);
  const { values, given } = parse(nameOf(number), [only], readCall([self, ...Array.from(passed)]));
  return results(number, f[number]!(...values), given);
}

export type { Native };
