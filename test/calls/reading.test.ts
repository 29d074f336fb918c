/** What a tensor gives to JavaScript: its sizes at every rank and magnitude, its elements in arrays of every size. */
import { balanced, torch, untyped } from '../support/torch';

const LARGEST = 2 ** 53 - 1;

/** Sizes beside the limits of the forms in which native code gives them: see native/exports/tensors.cpp. */
const around = (bits: number) => [0, 1, 2 ** bits - 1, 2 ** bits, 2 ** bits + 1];
const shapes = [
  [],
  ...[0, 1, 3, 2 ** 24, 2 ** 31, 2 ** 32 + 1, ...around(48), LARGEST].map((size) => [size]),
  ...around(24).flatMap((size) => [
    [size, 3],
    [3, size],
  ]),
  ...around(16).flatMap((size) => [
    [size, 2, 3],
    [2, size, 3],
    [2, 3, size],
  ]),
  [0xffff, 0xabcd, 0x1234],
  ...around(12).flatMap((size) => [
    [size, 1, 2, 3],
    [1, size, 2, 3],
    [1, 2, size, 3],
    [1, 2, 3, size],
  ]),
  [0xfff, 0xabc, 0x123, 0xfed],
  [1, 2, 3, 4, 5],
  [2, 0, 4096, 1, 2, 3, 4],
];

test('the sizes of every rank and magnitude are exact, and each array is new', () => {
  balanced(() =>
    torch.scope(() => {
      // 'meta' has no memory. An index of libtorch is at most 2^63, as is the number of elements.
      const one = untyped.empty([], { device: 'meta' });
      for (const shape of shapes) {
        const x = one.expand(shape);
        expect(x.shape).toEqual(shape);
        expect(x.shape).not.toBe(x.shape);
        expect(x.length).toBe(shape[0]);
        expect(x.ndim).toBe(shape.length);
      }
    }),
  );
});

const dtypes = [
  'float32',
  'float64',
  'int8',
  'uint8',
  'bool',
  'int16',
  'int32',
  'int64',
  'float16',
  'complex64',
] as const;

test.each(dtypes)('elements of %s: the same in small arrays, in large ones and in views', (dtype) => {
  balanced(() =>
    torch.scope(() => {
      for (const rows of [0, 1, 7, 32, 64, 65, 600]) {
        const numbers = Array.from({ length: 2 * rows }, (_, i) => (dtype === 'bool' ? i % 3 === 0 : (i % 100) - 20));
        const wanted = dtype === 'uint8' ? numbers.map((n) => Number(n) & 0xff) : numbers;
        const flat = untyped.tensor(numbers, { dtype: dtype === 'uint8' ? 'int64' : dtype }).to(dtype);
        const values = dtype === 'complex64' ? numbers.map((re) => new torch.Complex(re as number, 0)) : wanted;
        const pairs = Array.from({ length: rows }, (_, i) => [values[2 * i], values[2 * i + 1]]);
        const x = flat.reshape([rows, 2]);
        expect(x.toArray()).toEqual(pairs);
        expect(flat.toArray()).toEqual(values);
        expect(x.t().toArray()).toEqual([pairs.map(([a]) => a), pairs.map(([, b]) => b)]);
      }
      const before = untyped.tensor([1, 0, 1], { dtype });
      const first = before.toArray();
      untyped.tensor([0, 1, 0], { dtype }).toArray();
      expect(first).toEqual(before.toArray()); // the memory in between is used again, its values are not
    }),
  );
});

test('elements that libtorch keeps as a flag are computed', () => {
  torch.scope(() => {
    const x = untyped.tensor([new torch.Complex(1, 2)]);
    expect(x.conj().imag().toArray()).toEqual([-2]);
    expect(x.conj().toArray()).toEqual([new torch.Complex(1, -2)]);
    expect(untyped._efficientzerotensor([3]).toArray()).toEqual([0, 0, 0]);
    expect(torch.tensor([1, 2, 3], { requiresGrad: true }).mul(2).toArray()).toEqual([2, 4, 6]);
  });
});
