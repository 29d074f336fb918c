/** data.defaultCollate and data.defaultConvert: from samples to batches. */
import { balanced, codeOf, thrown, torch } from '../support/torch';

const { data } = torch.utils;

const rows = (n: number) => torch.arange(3 * n, { dtype: 'float32' }).reshape([n, 3]);

test('keeps the form of samples', () => {
  torch.scope(() => {
    const sample = (i: number) => ({
      t: torch.tensor([i]),
      list: [i, [i > 0]],
      bytes: new Uint8Array([i, 2]),
      big: BigInt(i),
      map: new Map([['k', `v${i}`]]),
    });
    const batch = data.defaultCollate([sample(0), sample(1)]);
    expect(batch.t.toArray()).toEqual([[0], [1]]);
    expect([batch.list[0].dtype, batch.list[1][0].dtype, batch.bytes.dtype, batch.big.dtype]).toEqual([
      'float32',
      'bool',
      'uint8',
      'int64',
    ]);
    expect(batch.bytes.toArray()).toEqual([
      [0, 2],
      [1, 2],
    ]);
    expect(batch.map).toEqual(new Map([['k', ['v0', 'v1']]]));
  });
});

test('reads a Map whose class has a tag and an iterator of its own', () => {
  class Fields extends Map<string, number> {
    override get [Symbol.toStringTag]() {
      return 'Fields';
    }
    override [Symbol.iterator]() {
      return this.keys() as never;
    }
  }
  torch.scope(() => {
    const batch = data.defaultCollate([new Fields([['a', 1]]), new Fields([['a', 2]])]) as Map<string, any>;
    expect(batch.get('a').toArray()).toEqual([1, 2]);
  });
});

test('integers that a float32 rounds are a warning, once for each place', () => {
  const warned: string[] = [];
  const spy = jest.spyOn(process, 'emitWarning').mockImplementation((warning) => void warned.push(String(warning)));
  torch.scope(() => {
    data.defaultCollate([{ id: 2 ** 24, at: -(2 ** 24), x: 1e30 }]);
    expect(warned).toEqual([]);
    for (const id of [2 ** 24 + 1, -(2 ** 24) - 1]) data.defaultCollate([{ id: 0 }, { id }]);
    data.defaultCollate([{ id: 2n ** 53n }]);
  });
  spy.mockRestore();
  expect(warned).toEqual([expect.stringContaining('rounds integers above 2^24: .id of the samples have such')]);
});

test('says where samples differ, and leaves nothing', () => {
  const of = (a: unknown, b: unknown) => balanced(() => thrown(() => data.defaultCollate([a, b])).message);
  expect(of([1], [1, 2])).toMatch(/'samples\[1\]': expected an array of 1, as in the first sample, got an array of 2/);
  expect(of({ a: [1, 2] }, { a: [1, 'x'] })).toMatch(/'samples\[1\]\.a\[1\]': expected a number, .* got 'x'/);
  expect(of({ a: 1 }, { b: 1 })).toMatch(/expected an object with 'a'/);
  expect(of(null, null)).toMatch(/'samples\[0\]': expected tensors, .* got null/);
  torch.scope(() => expect(() => data.defaultCollate([rows(1), rows(2)])).toThrow(/expected a Tensor float32\[1, 3\]/));
  expect(codeOf(() => data.defaultCollate([]))).toBe('ERR_TORCH_ARGUMENT');
});

test('defaultConvert', () => {
  torch.scope(() => {
    const made = data.defaultConvert({ a: [new Float32Array([1, 2]), 'x', 3] as [Float32Array, string, number] });
    expect([made.a[0].toArray(), made.a[1], made.a[2]]).toEqual([[1, 2], 'x', 3]);
  });
});
