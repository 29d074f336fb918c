/**
 * The generated fast paths and the cache of call forms against the parser: for every function and method, the wrapper and
 * the parser get the same random arguments and must run the same native row with the same values, or both refuse.
 */
import * as path from 'node:path';
import { inspect, isDeepStrictEqual, types } from 'node:util';
import type { Signature, TypeCode } from '../../lib/call/signature';
import { rows, signature } from '../support/signatures';
import { LIB, torch, untyped } from '../support/torch';

type Fn = (...args: any[]) => unknown;
interface Bound {
  signature: Signature;
  values: unknown[];
  given: unknown[];
}
const { f, run } = require(path.join(LIB, 'call/runtime.js')) as { f: Fn[]; run(bound: Bound): unknown };
const { readCall } = require(path.join(LIB, 'tensor/reading.js')) as { readCall(passed: unknown[]): object };
const parser = require(path.join(LIB, 'call/parse.js')) as {
  parse(name: string, candidates: Signature[], call: object, self?: unknown, raw?: boolean): Bound;
};
const parse = (name: string, candidates: Signature[], passed: unknown[], self?: unknown, raw?: boolean) =>
  parser.parse(name, candidates, readCall(passed), self, raw);
const { boundByForm, siteOf } = require(path.join(LIB, 'call/call-cache.js')) as {
  siteOf(name: string, candidates: Signature[], method: boolean, raw?: boolean): object;
  boundByForm(site: object, call: object, self?: unknown): Bound | undefined;
};
const { publics } = require(path.join(LIB, 'addon/wrappers.js')) as {
  publics: Record<string, Record<string, [string, string, string][]>>;
};
const { decodeSignature } = require(path.join(LIB, 'call/signature.js')) as {
  decodeSignature(number: number, texts: [string, string, string]): Signature;
};

const { methods } = require(path.join(LIB, 'public/methods.js')) as { methods: Record<string, Fn> };
const { native } = require(path.join(LIB, 'addon/native.js')) as { native: { ints: Float64Array } };

/** The letter of a type: `const enum` names do not exist in tests, which are compiled file by file. */
const letterOf = (type: TypeCode | undefined): string | undefined => type?.base;

/** Short lists of integers and of handles (0 for null) come through shared memory: 128 × first + length. So does a number for a tensor: -1.5 - where. */
const unpacked = (row: number, args: unknown[]) =>
  args.map((arg, i) => {
    const type = signature(row).params[i]?.type;
    if (letterOf(type) === 'W' && typeof arg === 'number' && arg < 0) return [native.ints[-arg - 1.5]];
    if (typeof arg !== 'number' || type?.list !== true || !'IT'.includes(letterOf(type)!)) return arg;
    const first = Math.floor(arg / 128);
    const list = Array.from(native.ints.subarray(first, first + (arg % 128)));
    return type.elementNullable ? list.map((handle) => handle || null) : list;
  });

class Ran {
  constructor(
    readonly row: number,
    readonly args: unknown[],
  ) {}
}

// Every native row records its arguments, and runs nothing.
const originals = [...f];
const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0; // most of the calls are refused, and the stacks are not read
  for (let row = 0; row < f.length; row++) {
    f[row] = (...args) => {
      throw new Ran(row, unpacked(row, args));
    };
  }
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
  originals.forEach((fn, row) => {
    f[row] = fn;
  });
});

/** Fast paths omit trailing absent arguments and pass null for an absent tensor, which is the same to native code, also in a list. */
function plain(row: number, args: unknown[]): string {
  const { params } = signature(row);
  const values = params.map(({ type }, i) => {
    const value = args[i] ?? null;
    if (!'TW'.includes(type.base)) return value;
    if (!type.list) return value ?? 0;
    return Array.isArray(value) ? value.map((one) => one ?? 0) : value;
  });
  return JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
}

/** Whether a list has an element that does not fit its parameter. In fast paths native code refuses these. */
function hasOddElement({ row, args }: Ran): boolean {
  return signature(row).params.some(({ type }, i) => {
    const list = args[i];
    if (!type.list || !Array.isArray(list)) return false;
    if (letterOf(type) === 'I') return list.some((item) => !Number.isInteger(item) && typeof item !== 'bigint');
    if (letterOf(type) === 'F') return list.some((item) => typeof item !== 'number' && typeof item !== 'bigint');
    return letterOf(type) === 'B' && list.some((item) => typeof item !== 'boolean');
  });
}

const outcome = (fn: () => unknown): string => {
  try {
    return `returned ${fn()}`;
  } catch (error) {
    if (!(error instanceof Ran)) return `refused: ${(error as { code?: string }).code ?? error}`;
    if (hasOddElement(error)) return 'refused: ERR_TORCH_OVERLOAD';
    return `row ${error.row}: ${plain(error.row, error.args)}`;
  }
};

const group = (fn: Fn): { name: string; numbers: number[] } | undefined => {
  const match = /(?:method|function)Site\('([^']*)', (\[[^\]]*\])/.exec(String(fn));
  return match === null ? undefined : { name: match[1]!, numbers: JSON.parse(match[2]!) };
};

/** A small deterministic generator of numbers. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const before = torch.memory().tensors;
const a = torch.ones([2, 2]);
const b = torch.zeros([3], { dtype: 'int64' });
const scalar = torch.tensor(2);
const generator = new torch.Generator();
afterAll(() => {
  torch.disposeAll([a, b, scalar]);
  expect(torch.memory().tensors).toBeLessThanOrEqual(before);
});

const values: unknown[] = [
  a,
  a,
  a,
  b,
  scalar,
  1,
  0,
  -1,
  2.5,
  Number.NaN,
  2 ** 60,
  3n,
  true,
  false,
  null,
  undefined,
  'float32',
  'mean',
  'A',
  [1],
  [2, 3],
  [],
  [a, b],
  [true, false],
  [1.5],
  ['A'],
  [null, a],
  new Int32Array([1, 2]),
  new torch.Complex(1, 2),
  { dim: 0 },
  { keepdim: true },
  { dtype: 'int64' },
  { out: a },
  { other: b },
  { generator },
  { nonsense: 1 },
  {},
  generator,
  () => 1,
];

const samples: Record<string, unknown[]> = {
  T: [a, a, b, scalar],
  W: [a, b, scalar, 2, 0.5, 3n, true],
  S: [2, 0.5, 3n, true, scalar],
  I: [1, 0, -1, 5n],
  F: [0.5, 2],
  B: [true, false],
  s: ['mean', 'sum'],
  D: ['float32', 'int64'],
  L: ['strided'],
  M: ['contiguous'],
  V: ['cpu'],
  G: [generator],
  R: [a],
  X: [new torch.Stream('cpu', 0)],
  N: ['A', 'B'],
  O: [0, -1, 1],
};

/** Arguments for one signature, truncated at random, and sometimes with one that does not fit. */
function fitting({ params, self }: Signature, asMethod: boolean, next: (n: number) => number): unknown[] {
  const positional = params.filter((param, i) => !param.keywordOnly && !param.out && !(asMethod && i === self));
  const args = positional.map(({ type }) => {
    const of = samples[type.base] ?? values;
    const one = () => of[next(of.length)];
    if (type.nullable && next(4) === 0) return next(2) === 0 ? null : undefined;
    if (!type.list) return one();
    if (type.size > 0 && next(3) === 0) return one();
    return Array.from({ length: type.size || next(3) }, one);
  });
  const required = positional.filter(({ optional }) => !optional).length;
  args.length = required + next(args.length - required + 1);
  const options: Record<string, unknown> = {};
  // The last ones by name, in any order.
  const byName = next(3) === 0 ? positional.slice(next(args.length + 1), args.length) : [];
  const named = byName.map(({ jsName }, i) => [jsName, args[args.length - byName.length + i]] as const);
  args.length -= byName.length;
  Object.assign(options, Object.fromEntries(next(2) === 0 ? named : named.reverse()));
  const keywords = params.filter(({ keywordOnly }) => keywordOnly);
  for (const { jsName, type, out } of keywords) {
    if (next(3 * keywords.length) !== 0) continue;
    const value = samples[type.base]?.[0] ?? 1;
    options[out && next(2) === 0 ? 'out' : jsName] = type.list ? [value] : value;
  }
  if (next(40) === 0) options.requiresGrad = next(3) > 0;
  if (Object.keys(options).length > 0) args.push(options);
  if (args.length > 0 && next(5) === 0) args[next(args.length)] = values[next(values.length)];
  return args;
}

/** One to six integers in place of the list that is the only positional parameter; undefined for other signatures. */
function gathered({ params, self }: Signature, asMethod: boolean, next: (n: number) => number): unknown[] | undefined {
  const positional = params.filter((param, i) => !param.keywordOnly && !param.out && !(asMethod && i === self));
  const type = positional[0]?.type;
  if (positional.length !== 1 || letterOf(type) !== 'I' || !type!.list) return undefined;
  const of = next(4) === 0 ? [...samples.I!, 2.5, a, scalar, true, undefined, [1], { out: a }] : [0, 1, -1, 2];
  return Array.from({ length: 1 + next(6) }, () => of[next(of.length)]);
}

interface Callee {
  label: string;
  numbers: readonly number[];
  asMethod: boolean;
  fast: (args: unknown[]) => unknown;
  slow: (args: unknown[]) => unknown;
}

/** Arguments without the elements of tensors, which would be read by ops that do not run here. */
function textOf(value: unknown): string {
  if (value instanceof torch.Tensor) return `tensor${value.ndim}`;
  if (Array.isArray(value)) return `[${value.map(textOf).join(', ')}]`;
  if (typeof value !== 'object' || value === null || types.isProxy(value)) return inspect(value, { depth: 0 });
  return `{ ${Object.entries(value)
    .map(([name, each]) => `${name}: ${textOf(each)}`)
    .join(', ')} }`;
}

function compare({ label, numbers, asMethod, fast, slow }: Callee, next: (n: number) => number): string[] {
  const differences: string[] = [];
  const lists = [
    ...numbers.flatMap((number) => Array.from({ length: 40 }, () => fitting(signature(number), asMethod, next))),
    ...numbers.flatMap((number) =>
      Array.from({ length: 40 }, () => gathered(signature(number), asMethod, next) ?? null),
    ),
    ...Array.from({ length: 15 }, () => Array.from({ length: next(6) }, () => values[next(values.length)])),
  ];
  for (const args of lists) {
    if (args === null) continue; // nothing to gather
    const [left, right] = [outcome(() => fast(args)), outcome(() => slow(args))];
    if (left === right) continue;
    differences.push(`${label}(${textOf(args)}): fast ${left}, parser ${right}`);
  }
  return differences;
}

test('functions of every namespace', () => {
  const next = random(1);
  const differences: string[] = [];
  let compared = 0;
  const visit = (space: Record<string, unknown>, prefix: string) => {
    for (const [key, value] of Object.entries(space)) {
      if (typeof value === 'object' && value !== null && /^(linalg|fft|special|sparse|nn|functional)$/.test(key))
        visit(value as never, `${prefix}${key}.`);
      const found = typeof value === 'function' ? group(value as Fn) : undefined;
      if (found === undefined) continue;
      compared++;
      differences.push(
        ...compare(
          {
            label: prefix + key,
            numbers: found.numbers,
            asMethod: false,
            fast: (args) => (value as Fn)(...args),
            slow: (args) => run(parse(found.name, found.numbers.map(signature), args)),
          },
          next,
        ),
      );
    }
  };
  visit(untyped, 'torch.');
  expect(differences.slice(0, 20)).toEqual([]);
  expect(compared).toBeGreaterThan(1000);
});

test('methods', () => {
  const next = random(2);
  const differences: string[] = [];
  let compared = 0;
  const { prototype } = untyped.Tensor;
  const byHand = Object.keys(methods).filter((name) => prototype[name] !== methods[name]);
  for (const [name, value] of Object.entries(methods)) {
    const found = group(value);
    if (found === undefined) continue;
    compared++;
    differences.push(
      ...compare(
        {
          label: `t.${name}`,
          numbers: found.numbers,
          asMethod: true,
          fast: (args) => value.apply(a, args),
          slow: (args) => run(parse(found.name, found.numbers.map(signature), args, a)),
        },
        next,
      ),
    );
  }
  expect(differences.slice(0, 20)).toEqual([]);
  expect(compared).toBeGreaterThan(500);
  // The prefix of a generated method.
  expect(byHand).toEqual([]);
});

/** The cache of call forms against the parser, without a wrapper. */
function compareForms(
  label: string,
  candidates: Signature[],
  { method, raw }: { method: boolean; raw: boolean },
  next: (n: number) => number,
): { differences: string[]; decided: number } {
  const differences: string[] = [];
  let decided = 0;
  const site = siteOf(label, candidates, method, raw);
  const self = method ? a : undefined;
  for (const candidate of candidates) {
    for (let i = 0; i < 40; i++) {
      const args = fitting(candidate, method, next);
      const fast = boundByForm(site, readCall(args), self);
      if (fast === undefined) continue;
      decided++;
      const { number } = fast.signature;
      if (number >= 0) fast.values = unpacked(number, fast.values);
      let slow: Partial<Bound> = {};
      try {
        slow = parse(label, candidates, args, self, raw);
      } catch {
        // Refused: any result of the cache is a difference.
      }
      // The values as given are left out of an op whose results are new tensors: nothing needs them.
      const given = fast.signature.wraps && number >= 0 ? [] : slow.given;
      const same =
        fast.signature === slow.signature && isDeepStrictEqual([fast.values, fast.given], [slow.values, given]);
      if (!same)
        differences.push(`${label}(${textOf(args)}): ${fast.signature.schema}, parser ${slow.signature?.schema}`);
    }
  }
  return { differences, decided };
}

test('public functions', () => {
  const next = random(3);
  const all = Object.entries(publics).flatMap(([space, functions]) =>
    Object.entries(functions).map(([name, texts]) => {
      const signatures = texts.map((text) => decodeSignature(-1, text));
      const candidates = space === 'Tensor' ? signatures.map((each) => ({ ...each, self: 0 })) : signatures;
      return compareForms(`${space}.${name}`, candidates, { method: space === 'Tensor', raw: false }, next);
    }),
  );
  expect(all.flatMap(({ differences }) => differences).slice(0, 20)).toEqual([]);
  expect(all.filter(({ decided }) => decided > 0).length).toBeGreaterThan(100);
});

test('torch.ops', () => {
  const next = random(4);
  const all = rows.map(({ number, key }) => compareForms(key, [signature(number)], { method: false, raw: true }, next));
  expect(all.flatMap(({ differences }) => differences).slice(0, 20)).toEqual([]);
  expect(all.filter(({ decided }) => decided > 0).length).toBeGreaterThan(1500);
});
