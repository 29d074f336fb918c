/** Runs ops: native functions by number, and results as JavaScript wants them. Generated wrappers call this. */
import { PendingValue, RECORDED_VALUE } from './async/pending';
import { dtypeName } from './enums';
import { codedError } from './errors';
import { type Native, type NativeOp, native } from './native';
import { NativeObject } from './object';
import { type Bound, parse } from './parse';
import { type Result, signature } from './signature';
import { isTensor, notThis, type Tensor, wrap } from './tensor';
import { Complex } from './values';
import { table } from './wrappers';

/** The native functions by row number, each made on its first call. */
export const f: NativeOp[] = Array.from({ length: table.length }, (_, row) => (...args: unknown[]) => {
  const op = native.ops(row);
  f[row] = op;
  return op(...args);
});

function convertResult(value: unknown, { type }: Result): unknown {
  if (type.list && type.base === 'T') return (value as number[]).map(wrap);
  switch (type.base) {
    case 'T':
    case 'R':
      return wrap(value as number);
    case 'D':
      return dtypeName(value as number);
    case 'S':
      return typeof value === 'object' && value !== null
        ? new Complex((value as Complex).re, (value as Complex).im)
        : value;
    default:
      return value;
  }
}

/** The results of a row: one value as it is, several as an array whose named elements are properties too. */
export function results(number: number, value: unknown, given: readonly unknown[] = []): unknown {
  const list = signature(number).results;
  if (list.length === 0) return undefined;
  if (native.flags[5] === RECORDED_VALUE) return new PendingValue(native.result[0]!, number, given);
  const at = (i: number, raw: unknown) =>
    list[i]!.argument >= 0 ? given[list[i]!.argument] : convertResult(raw, list[i]!);
  if (list.length === 1) return at(0, value);
  const array: unknown[] & Record<string, unknown> = list.map((_, i) =>
    at(i, (value as unknown[] | undefined)?.[i]),
  ) as never;
  list.forEach((result, i) => {
    if (result.jsName !== '') Object.defineProperty(array, result.jsName, { value: array[i], writable: true });
  });
  return array;
}

/** Calls the op of a call that fits it. */
export function run({ signature: { number }, values, given, requiresGrad }: Bound): unknown {
  // As the fast paths do: native code reads what is not passed as null without asking.
  while (values.length > 0 && values[values.length - 1] === null) values.pop();
  const result = results(number, f[number]!(...values), given);
  if (requiresGrad) (result as Tensor).requiresGrad = true;
  return result;
}

/** For the fast paths: a list that needs no conversion. */
export function isInts(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  for (let i = 0; i < value.length; i++) if (!Number.isInteger(value[i])) return false;
  return true;
}

const { ints } = native;
/** Longer lists go as arrays. Six of these fit in `ints`, as many as a fast path has parameters. */
const MOST_PACKED = 16;
let nextInt = 0;

/** A short list of integers, on its way into an op through shared memory: see read_packed() of native/convert. */
export function packed(list: readonly number[]): number | readonly number[] {
  const { length } = list;
  if (length > MOST_PACKED) return list;
  const first = nextInt + length > ints.length ? 0 : nextInt;
  for (let i = 0; i < length; i++) ints[first + i] = list[i]!;
  nextInt = first + length;
  return first * 32 + length;
}

/**
 * A number that stands for a tensor, on its way into an op through shared memory: see number_tensor() of native/convert.
 * The code, -1.5 and down, is neither a handle nor what a forged one would be. For the fast paths: nothing else may run
 * before the op takes it.
 */
export function numberTensor(value: number): number {
  const at = nextInt < ints.length ? nextInt : 0;
  ints[at] = value;
  nextInt = at + 1;
  return -(at + 1.5);
}

export function isNumbers(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  for (let i = 0; i < value.length; i++) if (typeof value[i] !== 'number') return false;
  return true;
}

/** A call of a function that no fast path took. */
export function callFunction(name: string, numbers: readonly number[], passed: ArrayLike<unknown>): unknown {
  return run(parse(name, numbers.map(signature), passed));
}

/** A call of a method that no fast path took. */
export function callMethod(
  name: string,
  numbers: readonly number[],
  self: Tensor,
  passed: ArrayLike<unknown>,
): unknown {
  if (!isTensor(self)) throw notThis(name, self);
  return run(parse(name, numbers.map(signature), passed, self));
}

/** torch.ops: exactly one overload, names as in the schema. */
export function callRaw(number: number, passed: ArrayLike<unknown>): unknown {
  const only = signature(number);
  return run(parse(`aten::${only.name}`, [only], passed, undefined, true));
}

/** `new torch.Generator(…)`: what the generated class's constructor makes. */
export function construct(number: number, passed: ArrayLike<unknown>): { handle: number; guard: unknown } {
  const only = signature(number);
  const handle = f[number]!(...parse(only.name, [only], passed).values) as number;
  return { handle, guard: native.generatorGuard(handle) };
}

/** A method of a generated class. */
export function callObject(number: number, self: NativeObject, passed: ArrayLike<unknown>): unknown {
  if (!(self instanceof NativeObject)) {
    throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', `${signature(number).name}: 'this' is no object of libtorch's`);
  }
  self._live();
  const only = signature(number);
  const { values, given } = parse(only.name, [only], [self, ...Array.from(passed)]);
  return results(number, f[number]!(...values), given);
}

export type { Native };
