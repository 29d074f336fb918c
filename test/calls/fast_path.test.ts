/**
 * The generated fast paths against the parser: for every function and method, the wrapper and the slow path get the same
 * random arguments and must run the same native row with the same values, or both refuse.
 */
import * as path from 'node:path';
import { signature } from '../support/signatures';
import { LIB, torch, untyped } from '../support/torch';

type Fn = (...args: any[]) => unknown;
const { f, callFunction, callMethod } = require(path.join(LIB, 'runtime.js')) as {
  f: Fn[];
  callFunction(name: string, numbers: number[], passed: unknown[]): unknown;
  callMethod(name: string, numbers: number[], self: unknown, passed: unknown[]): unknown;
};

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
      throw new Ran(row, args);
    };
  }
});
afterAll(() => {
  originals.forEach((fn, row) => {
    f[row] = fn;
  });
});

/** Absent tensors are 0 to the parser and null to fast paths: the same to native code. */
function plain(row: number, args: unknown[]): string {
  const { params } = signature(row);
  const values = args.map((value, i) => {
    const { type } = params[i]!;
    return value === null && type.base === 'T' && !type.list ? 0 : value;
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
  expect(torch.memory().tensors).toBe(before);
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

/**
 * Both are right: sections given as a tensor without dimensions fit `int sections` of the parser's first overload, and
 * the overload for a tensor that the fast path takes. The result is the same.
 */
const bothRight = new Set(['t.tensorSplit', 'torch.tensorSplit']);

function compare(
  label: string,
  fast: (args: unknown[]) => unknown,
  slow: (args: unknown[]) => unknown,
  next: (n: number) => number,
): string[] {
  const differences: string[] = [];
  for (let i = 0; i < 60; i++) {
    const args = Array.from({ length: next(6) }, () => values[next(values.length)]);
    const [left, right] = [outcome(() => fast(args)), outcome(() => slow(args))];
    if (left !== right && !(bothRight.has(label) && args.includes(scalar))) {
      const text = args.map((arg) =>
        arg instanceof torch.Tensor ? 'tensor' : typeof arg === 'bigint' ? `${arg}n` : JSON.stringify(arg),
      );
      differences.push(`${label}(${text.join(', ')}): fast ${left}, parser ${right}`);
    }
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
          prefix + key,
          (args) => (value as Fn)(...args),
          (args) => callFunction(found.name, found.numbers, args),
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
        `t.${name}`,
        (args) => value.apply(a, args),
        (args) => callMethod(found.name, found.numbers, a, args),
        next,
      ),
    );
  }
  expect(differences.slice(0, 20)).toEqual([]);
  expect(compared).toBeGreaterThan(500);
});
