/** Tensors in the assertions of node:assert, Jest and Vitest: by dtype, shape and values, comparing numbers with Object.is. */
import assert from 'node:assert';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import util from 'node:util';
import { ask, run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { balanced, ROOT, torch, untyped } from '../support/torch';

type Pair = readonly [what: string, a: () => unknown, b: () => unknown];
const of = (data: any, options = {}) => untyped.tensor(data, options);

const equal: readonly Pair[] = [
  ['numbers', () => of([1, 2]), () => of([1, 2])],
  ['no dimensions', () => of(3), () => of(3)],
  ['no elements', () => of([]), () => of([])],
  ['NaN', () => of([NaN, 1]), () => of([NaN, 1])],
  ['-0', () => of([-0]), () => of([-0])],
  ['int64', () => of([1n, 2n ** 60n]), () => of([1n, 2n ** 60n])],
  ['booleans', () => of([true]), () => of([true])],
  ['complex', () => of([{ re: 1, im: 2 }]), () => of([{ re: 1, im: 2 }])],
  ['float16', () => of([1.5], { dtype: 'float16' }), () => of([1.5], { dtype: 'float16' })],
  ['a view', () => of([1, 2, 3, 4]).view([2, 2]).t(), () => of([[1, 3], [2, 4]])], // biome-ignore format: one line
  ['sparse', () => of([0, 1]).toSparse(), () => of([0, 1]).toSparse()],
  ['many', () => untyped.arange(5000), () => untyped.arange(5000)],
  ['inside arrays and objects', () => ({ a: [of([1])], b: 2 }), () => ({ a: [of([1])], b: 2 })],
  ['in a Map', () => new Map([['k', of([1])]]), () => new Map([['k', of([1])]])],
  ['in a Set', () => new Set([of([1])]), () => new Set([of([1])])],
  ['with a gradient', () => of([1], { requiresGrad: true }), () => of([1], { requiresGrad: true })],
];

const different: readonly Pair[] = [
  ['values', () => of([1, 2]), () => of([1, 3])],
  ['one of many', () => untyped.arange(5000), () => untyped.arange(5000).set([4999], 0)],
  ['0 and -0', () => of([0]), () => of([-0])],
  ['NaN and 0', () => of([NaN]), () => of([0])],
  ['dtypes', () => of([1]), () => of([1], { dtype: 'float64' })],
  ['shapes', () => of([1, 2]), () => of([[1, 2]])],
  ['shapes without elements', () => untyped.zeros([2, 0]), () => untyped.zeros([0, 2])],
  ['layouts', () => of([1]), () => of([1]).toSparse()],
  ['inside', () => ({ a: [of([1])] }), () => ({ a: [of([2])] })],
  ['a tensor and its numbers', () => of([1, 2]), () => [1, 2]],
  ['a tensor and undefined', () => of([1]), () => undefined],
];

const inScope = (fn: () => void) => balanced(() => torch.scope(fn));

test.each(equal)('equal: %s', (_, a, b) => {
  inScope(() => {
    const before = torch.memory().tensors;
    const [x, y] = [a(), b()];
    const made = torch.memory().tensors - before;
    assert.deepStrictEqual(x, y);
    assert.deepEqual(x, y);
    assert.strict.deepEqual(x, y);
    expect(util.isDeepStrictEqual(x, y)).toBe(true);
    expect(() => assert.notDeepStrictEqual(x, y)).toThrow(assert.AssertionError);
    expect(() => assert.notDeepEqual(x, y)).toThrow(assert.AssertionError);
    expect(x).toEqual(y);
    expect(x).toStrictEqual(y);
    expect([x]).toContainEqual(y);
    expect(() => expect(x).not.toEqual(y)).toThrow();
    expect(torch.memory().tensors - before).toBe(made);
  });
});

test.each(different)('different: %s', (_, a, b) => {
  inScope(() => {
    const [x, y] = [a(), b()];
    for (const [one, other] of [
      [x, y],
      [y, x],
    ]) {
      expect(() => assert.deepStrictEqual(one, other)).toThrow(assert.AssertionError);
      expect(util.isDeepStrictEqual(one, other)).toBe(false);
      assert.notDeepStrictEqual(one, other);
      expect(one).not.toEqual(other);
      expect(one).not.toStrictEqual(other);
      expect(() => expect(one).toEqual(other)).toThrow();
    }
  });
});

test('differences show values, and stacks start at the assertion', () => {
  inScope(() => {
    const message = (fn: () => void): Error & { code?: string } => {
      try {
        fn();
      } catch (error) {
        return error as Error;
      }
      throw new Error('nothing was thrown');
    };
    const error = message(() => assert.deepStrictEqual({ x: of([1, 2]) }, { x: of([1, 3]) }));
    expect(error.code).toBe('ERR_ASSERTION');
    expect(error.message).toMatch(/^\+ +2$/m);
    expect(error.message).toMatch(/^- +3$/m);
    expect(error.stack).toMatch(/\n {4}at .*equality\.test\.ts/);
    expect(error.stack).not.toContain('assert-equality');
    expect(message(() => assert.deepStrictEqual(of([1]), of([1], { dtype: 'float64' }))).message).toMatch(
      /^- +dtype: 'float64'/m,
    );
    expect(message(() => assert.deepStrictEqual(of([1]), of([2]), 'mine')).message).toContain('mine');
    expect(message(() => expect(of([1, 2])).toEqual(of([1, 3]))).message).toMatch(/2,/);
    // Without tensors the error is node:assert's own.
    expect(message(() => assert.deepStrictEqual({ a: 1 }, { a: 2 })).message).toMatch(/a: 1/);
  });
});

test('disposed tensors, cycles, and objects with getters', () => {
  inScope(() => {
    const [gone, other] = [of([1]), of([1])];
    gone.dispose();
    assert.deepStrictEqual(gone, gone);
    assert.notDeepStrictEqual(gone, other);
    expect(gone).not.toEqual(other);
    const loop = (value: unknown) => {
      const object: Record<string, unknown> = { value };
      object.self = object;
      return object;
    };
    assert.deepStrictEqual(loop(of([1])), loop(of([1])));
    assert.notDeepStrictEqual(loop(of([1])), loop(of([2])));
    class Holder {
      constructor(readonly t: unknown) {}
    }
    assert.deepStrictEqual(new Holder(of([1])), new Holder(of([1])));
    assert.notDeepStrictEqual(new Holder(of([1])), { t: of([1]) });
    const empty = new Error('same');
    assert.deepStrictEqual([of([1]), empty], [of([1]), empty]);
  });
});

test('node:assert with the usual imports', async () => {
  const answers = await ask(`
    const { test } = require('node:test');
    Promise.all([import('node:assert'), import('node:assert/strict'), import('node:util')]).then(([assert, strict, util]) => {
      const [a, b, c] = [torch.tensor([1]), torch.tensor([1]), torch.tensor([2])];
      const holds = (fn) => { try { fn(); return true; } catch (error) { return error.code; } };
      answer([
        holds(() => assert.deepStrictEqual(a, b)), holds(() => assert.deepStrictEqual(a, c)),
        holds(() => assert.default.deepStrictEqual(a, b)), holds(() => strict.deepEqual(a, b)),
        holds(() => strict.default.deepEqual(a, c)),
        holds(() => assert.deepStrictEqual(a, c, Object.assign(new Error('mine'), { code: 'MINE' }))), util.isDeepStrictEqual(a, b),
        assert.deepStrictEqual.name, assert.deepStrictEqual === require('assert').deepStrictEqual,
        assert.default.strict.deepEqual === assert.default.deepStrictEqual,
      ]);
    });
  `);
  expect(answers).toEqual([
    true,
    'ERR_ASSERTION',
    true,
    true,
    'ERR_ASSERTION',
    'MINE',
    true,
    'deepStrictEqual',
    true,
    true,
  ]);
});

/** What the tests of a project say, each `title status`, when another runner than the one of this file runs them. */
async function resultsOf(files: Readonly<Record<string, string>>, command: (project: string) => string[]) {
  const project = fs.realpathSync(fs.mkdtempSync(path.join(tmpdir(), 'ltn-equality-')));
  try {
    for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(project, name), text);
    const env = Object.fromEntries(
      Object.entries({ ...ordinaryEnv(), NO_COLOR: '1' }).filter(
        ([name]) => !/^(NODE_OPTIONS|NODE_TEST_CONTEXT|JEST_|NODE_ENV|VITEST)/.test(name),
      ),
    );
    const { stdout } = await run(process.execPath, command(project), { env });
    const report = JSON.parse(stdout.slice(stdout.indexOf('{'))) as { testResults: { assertionResults: any[] }[] };
    return report.testResults[0]!.assertionResults.map(({ title, status }) => `${title} ${status}`);
  } finally {
    fs.rmSync(project, { recursive: true, force: true });
  }
}

const EXPECTATIONS = `
  test('equal', () => {
    expect(torch.tensor([1, NaN])).toEqual(torch.tensor([1, NaN]));
    expect({ a: [torch.tensor([0])] }).toStrictEqual({ a: [torch.tensor([0])] });
  });
  test('different', () => { expect(torch.tensor([1])).toEqual(torch.tensor([2])); });`;

test.each(['a test', 'a setup file'])('Vitest, which loads the library in %s', async (where) => {
  const load = `import { createRequire } from 'node:module';
    globalThis.torch = createRequire(import.meta.url)(${JSON.stringify(ROOT)});`;
  const isSetup = where === 'a setup file';
  const vitest = JSON.stringify(path.join(ROOT, 'node_modules/vitest/dist/index.js'));
  const results = await resultsOf(
    {
      'a.test.mjs': `import { expect, test } from ${vitest};\n${isSetup ? '' : load}\n${EXPECTATIONS}`,
      'setup.mjs': load,
      'vitest.config.mjs': `export default { test: { setupFiles: ${isSetup ? "['./setup.mjs']" : '[]'} } };`,
    },
    (project) => [
      path.join(ROOT, 'node_modules/vitest/vitest.mjs'),
      ...['run', '--root', project, '--reporter=json', '--pool=forks'],
    ],
  );
  expect(results).toEqual(['equal passed', 'different failed']);
});

test.each(['setupFiles', 'setupFilesAfterEnv'])('Jest, which loads the library in %s', async (where) => {
  const expectations = `
    test('nothing is left of what waited', () => {
      const { get, enumerable, writable } = Object.getOwnPropertyDescriptor(globalThis, 'expect');
      expect([get, enumerable, writable]).toEqual([undefined, true, true]);
    });
    ${EXPECTATIONS}`;
  const results = await resultsOf(
    {
      'a.test.js': expectations,
      'setup.js': `const typeBefore = typeof expect;
        globalThis.torch = require(${JSON.stringify(ROOT)});
        if (typeof expect !== typeBefore) throw new Error('expect became ' + typeof expect);`,
      'jest.config.js': `module.exports = { rootDir: __dirname, ${where}: ['<rootDir>/setup.js'] };`,
    },
    (project) => [
      path.join(ROOT, 'node_modules/jest/bin/jest.js'),
      ...['--config', path.join(project, 'jest.config.js'), '--json', '--watchman=false'],
    ],
  );
  expect(results).toEqual(['nothing is left of what waited passed', 'equal passed', 'different failed']);
});
