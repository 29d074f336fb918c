/** node:assert without tensors: its results, errors and property reads are unchanged. */
import type * as nodeAssert from 'node:assert';
import { torch } from '../support/torch';

// The module itself, after the library: a transpiled `import * as` is a copy of the earlier exports.
const assert: typeof nodeAssert = require('node:assert');

const deepStrictEqual: typeof nodeAssert.deepStrictEqual = assert.deepStrictEqual;
const notDeepStrictEqual: typeof nodeAssert.notDeepStrictEqual = assert.notDeepStrictEqual;

function caught(fn: () => void): any {
  try {
    fn();
  } catch (error) {
    return error;
  }
  throw new Error('expected an error');
}

test('errors have their code in the first line of the stack, and the caller’s frame first', () => {
  const error = caught(() => deepStrictEqual({ a: 1 }, { a: 2 }));
  expect([error.name, error.code, error.generatedMessage]).toEqual(['AssertionError', 'ERR_ASSERTION', true]);
  const [first, ...frames] = error.stack.split('\n');
  expect(first).toContain('AssertionError [ERR_ASSERTION]: ');
  expect(frames.find((line: string) => line.startsWith('    at '))).toContain('equality-alone.test.ts');
});

test('missing arguments, errors of the program and errors as messages are unchanged', () => {
  expect(caught(() => (deepStrictEqual as any)()).code).toBe('ERR_MISSING_ARGS');
  expect(caught(() => (deepStrictEqual as any)(1)).code).toBe('ERR_MISSING_ARGS');
  // Jest's own Error is not node:assert's.
  const own = Object.freeze(caught(() => assert.fail('mine')));
  expect(caught(() => deepStrictEqual(1, 2, own))).toBe(own);
  expect(caught(() => notDeepStrictEqual(1, 1, own))).toBe(own);
  const boom = new Error('boom');
  const throws = {
    get boom() {
      throw boom;
    },
  };
  expect(caught(() => deepStrictEqual({ boom: 1 }, throws))).toBe(boom);
});

test('getters run as often as node:assert runs them', () => {
  let reads = 0;
  const counted = {
    get x() {
      return reads++;
    },
  };
  notDeepStrictEqual(counted, { y: 1 });
  expect(reads).toBe(0);
});

test('values too deep to be copied are still compared', () => {
  let deep: object = {};
  for (let i = 0; i < 20_000; i++) deep = { deep };
  notDeepStrictEqual(deep, {});
});

test('quantized tensors are compared by the values they represent', () => {
  torch.scope(() => {
    const quantized = (value: number) =>
      torch.quantizePerTensor(torch.tensor([value, 2]), { scale: 0.5, zeroPoint: 0, dtype: 'qint8' });
    expect(quantized(1)).toEqual(quantized(1));
    expect(quantized(1)).not.toEqual(quantized(3));
    deepStrictEqual(quantized(1), quantized(1));
    notDeepStrictEqual({ t: quantized(1) }, { t: quantized(3) });
  });
});
