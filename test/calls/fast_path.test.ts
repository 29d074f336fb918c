/**
 * The generated fast paths against the parser: for every function and method, the wrapper and the slow path get the same
 * random arguments and must run the same native row with the same values, or both refuse.
 */
import * as path from 'node:path';
import { inspect } from 'node:util';
import { signature } from '../support/signatures';
import { LIB, torch, untyped } from '../support/torch';

type Fn = (...args: any[]) => unknown;
const { f, callFunction, callMethod } = require(path.join(LIB, 'runtime.js')) as {
  f: Fn[];
  callFunction(name: string, numbers: number[], passed: unknown[]): unknown;
  callMethod(name: string, numbers: number[], self: unknown, passed: unknown[]): unknown;
};

const { native } = require(path.join(LIB, 'native.js')) as { native: { ints: Float64Array } };

/** Short lists of integers come through shared memory: 32 × first + length. So does a number for a tensor: -1.5 - where. */
const unpacked = (row: number, args: unknown[]) =>
  args.map((arg, i) => {
    const type = signature(row).params[i]?.type;
    if (type?.base === 'W' && typeof arg === 'number' && arg < 0) return [native.ints[-arg - 1.5]];
    if (typeof arg !== 'number' || type?.list !== true || type.base !== 'I') return arg;
    const first = Math.floor(arg / 32);
    return Array.from(native.ints.subarray(first, first + (arg % 32)));
  });

class Ran {
  constructor(
    readonly row: number,
    readonly args: unknown[],
  ) {}
}

// Every native row says what it was asked, and runs nothing.
const originals = [...f];
beforeAll(() => {
  for (let row = 0; row < f.length; row++) {
    f[row] = (...args) => {
      throw new Ran(row, unpacked(row, args));
    };
  }
});
afterAll(() => {
  originals.forEach((fn, row) => {
    f[row] = fn;
  });
});

/** Fast paths leave out what is none at the end, and say null for an absent tensor: the same to native code. */
function plain(row: number, args: unknown[]): string {
  const { params } = signature(row);
  const values = params.map(({ type }, i) => {
    const value = args[i] ?? null;
    return value === null && 'TW'.includes(type.base) && !type.list ? 0 : value;
  });
  return JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
}

/** Whether a list has an element that its parameter does not take. Fast paths leave these to native code to refuse. */
function hasOddElement({ row, args }: Ran): boolean {
  return signature(row).params.some(({ type }, i) => {
    const list = args[i];
    if (!type.list || !Array.isArray(list)) return false;
    if (type.base === 'I') return list.some((item) => !Number.isInteger(item) && typeof item !== 'bigint');
    if (type.base === 'F') return list.some((item) => typeof item !== 'number' && typeof item !== 'bigint');
    return type.base === 'B' && list.some((item) => typeof item !== 'boolean');
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
  const match = /call(?:Method|Function)\('([^']*)', (\[[^\]]*\])/.exec(String(fn));
  return match === null ? undefined : { name: match[1]!, numbers: JSON.parse(match[2]!) };
};

/** A small generator of numbers, the same in every run. */
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

/** Arguments made for one signature, cut at random, and sometimes with one that does not fit. */
function fitting(number: number, asMethod: boolean, next: (n: number) => number): unknown[] {
  const { params, self } = signature(number);
  const positional = params.filter((param, i) => !param.keywordOnly && !param.out && !(asMethod && i === self));
  const args = positional.map(({ type }) => {
    const of = samples[type.base]!;
    const one = () => of[next(of.length)];
    if (type.nullable && next(4) === 0) return next(2) === 0 ? null : undefined;
    if (!type.list) return one();
    if (type.size > 0 && next(3) === 0) return one();
    return Array.from({ length: type.size || next(3) }, one);
  });
  const required = positional.filter(({ optional }) => !optional).length;
  args.length = required + next(args.length - required + 1);
  const options = params.filter(({ keywordOnly }) => keywordOnly);
  if (options.length > 0 && next(3) === 0) {
    const { jsName, type } = options[next(options.length)]!;
    const value = samples[type.base]![0];
    args.push({ [jsName]: type.list ? [value] : value });
  }
  if (args.length > 0 && next(5) === 0) args[next(args.length)] = values[next(values.length)];
  return args;
}

interface Callee {
  label: string;
  numbers: readonly number[];
  asMethod: boolean;
  fast: (args: unknown[]) => unknown;
  slow: (args: unknown[]) => unknown;
}

function compare({ label, numbers, asMethod, fast, slow }: Callee, next: (n: number) => number): string[] {
  const differences: string[] = [];
  const lists = [
    ...numbers.flatMap((number) => Array.from({ length: 40 }, () => fitting(number, asMethod, next))),
    ...Array.from({ length: 15 }, () => Array.from({ length: next(6) }, () => values[next(values.length)])),
  ];
  for (const args of lists) {
    const [left, right] = [outcome(() => fast(args)), outcome(() => slow(args))];
    if (left === right) continue;
    const text = args.map((arg) => (arg instanceof torch.Tensor ? `tensor${arg.ndim}` : inspect(arg, { depth: 0 })));
    differences.push(`${label}(${text.join(', ')}): fast ${left}, parser ${right}`);
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
            slow: (args) => callFunction(found.name, found.numbers, args),
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
  for (const name of Object.getOwnPropertyNames(prototype)) {
    const { value } = Object.getOwnPropertyDescriptor(prototype, name)!;
    const found = typeof value === 'function' ? group(value) : undefined;
    if (found === undefined) continue;
    compared++;
    differences.push(
      ...compare(
        {
          label: `t.${name}`,
          numbers: found.numbers,
          asMethod: true,
          fast: (args) => value.apply(a, args),
          slow: (args) => callMethod(found.name, found.numbers, a, args),
        },
        next,
      ),
    );
  }
  expect(differences.slice(0, 20)).toEqual([]);
  expect(compared).toBeGreaterThan(500);
});
