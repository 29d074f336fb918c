/**
 * JavaScript's numbers as elements of integer dtypes: values that PyTorch refuses are refused with the path to the element,
 * and values that it accepts become the same integer.
 */
import { runInNewContext } from 'node:vm';
import { python } from '../support/python';
import { balanced, thrown, torch, untyped } from '../support/torch';

/** Integers become Python's ints, others its floats: as everywhere, the value decides. */
const numbers: readonly (readonly [js: string, py: string])[] = [
  ['NaN', 'math.nan'],
  ['Infinity', 'math.inf'],
  ['-Infinity', '-math.inf'],
  ...['0', '1', '-1', '127', '128', '-128', '-129', '255', '256', '-255', '-256', '300', '32767', '32768', '-32769'],
  ...['0.5', '-0.5', '1.5', '-1.5', '127.5', '-128.5', '254.5', '255.5', '32767.5', '2147483646.5', '2147483647.5'],
  ...['2147483647', '2147483648', '-2147483648', '-2147483649', '10000000000', '1099511627776'],
  ...['9007199254740991', '1e19', '1e300'],
  ['2 ** 63', '2 ** 63'],
  ['-(2 ** 63)', '-(2 ** 63)'],
].map((entry) => (typeof entry === 'string' ? [entry, entry] : entry) as [string, string]);

const bigints: readonly (readonly [js: string, py: string])[] = [
  ...['0', '-1', '255', '256', '-255', '-256', '2 ** 31 - 1', '2 ** 31', '2 ** 40', '2 ** 63 - 1', '2 ** 63'],
  ...['-(2 ** 63)', '-(2 ** 63) - 1', '2 ** 70'],
].map((text) => [text.replace(/\d+/g, '$&n'), text]);

const dtypes = ['uint8', 'int8', 'int16', 'int32', 'int64'];

/** Every way to make an element from a JavaScript number. `D` is the dtype, `V` the number. */
const makers: readonly (readonly [js: string, py: string])[] = [
  ['torch.tensor([V], { dtype: "D" })', 'torch.tensor([V], dtype=torch.D)'],
  ['torch.tensor(V, { dtype: "D" })', 'torch.tensor(V, dtype=torch.D)'],
  ['torch.asTensor([V], { dtype: "D" })', 'torch.as_tensor([V], dtype=torch.D)'],
  ['torch.asarray([V], { dtype: "D" })', 'torch.asarray([V], dtype=torch.D)'],
  ['torch.rand([2]).newTensor([V], { dtype: "D" })', 'torch.rand([2]).new_tensor([V], dtype=torch.D)'],
  ['torch.full([1], V, { dtype: "D" })', 'torch.full([1], V, dtype=torch.D)'],
  ['torch.zeros([1], { dtype: "D" }).fill_(V)', 'torch.zeros([1], dtype=torch.D).fill_(V)'],
  ['torch.zeros([1], { dtype: "D" }).set([0], V)', 'set_item(torch.zeros([1], dtype=torch.D), 0, V)'],
  ['torch.zeros([1], { dtype: "D" }).set([[0]], V)', 'set_item(torch.zeros([1], dtype=torch.D), [0], V)'],
  ['torch.zeros([1], { dtype: "D" }).newFull([1], V)', 'torch.zeros([1], dtype=torch.D).new_full([1], V)'],
  ['torch.fullLike(torch.zeros([1], { dtype: "D" }), V)', 'torch.full_like(torch.zeros([1], dtype=torch.D), V)'],
  [
    'torch.zeros([1], { dtype: "D" }).maskedFill(torch.tensor([true]), V)',
    'torch.zeros([1], dtype=torch.D).masked_fill(torch.tensor([True]), V)',
  ],
  [
    'torch.zeros([1], { dtype: "D" }).indexFill(0, torch.tensor([0n]), V)',
    'torch.zeros([1], dtype=torch.D).index_fill(0, torch.tensor([0]), V)',
  ],
];

const applied = [
  'torch.zeros([1], { dtype: "D" }).apply_(() => V)',
  'torch.zeros([1], dtype=torch.D).apply_(lambda x: V)',
];

/** Arrays whose elements are always floats, or always integers, to PyTorch. */
const arrays: readonly (readonly [js: string, py: string])[] = [
  ...['1.5', '-1.5', '255', '255.5', '300', '-1', '1e10', 'NaN', '-Infinity'].flatMap((value) => {
    const float = value === 'NaN' ? 'math.nan' : value === '-Infinity' ? '-math.inf' : `float(${value})`;
    return [
      [`new Float64Array([${value}])`, `__import__("array").array("d", [${float}])`],
      [`new Float32Array([${value}])`, `__import__("array").array("f", [${float}])`],
    ] as const;
  }),
  ...['-1', '-128', '-200', '200', '2147483647'].map(
    (value) => [`new Int32Array([${value}])`, `__import__("array").array("i", [${value}])`] as const,
  ),
  ...['2n ** 40n', '-1n', '255n', '-300n'].map(
    (value) =>
      [`new BigInt64Array([${value}])`, `__import__("array").array("q", [${value.replaceAll('n', '')}])`] as const,
  ),
  ['new Uint8Array([200])', '__import__("array").array("B", [200])'],
];

const fill = (text: string, value: string, dtype: string) => text.replace('V', () => value).replace('D', dtype);

function* calls(): Generator<[js: string, py: string]> {
  for (const dtype of dtypes) {
    for (const [js, py] of makers) {
      for (const values of [numbers, bigints]) {
        for (const [value, pyValue] of values) yield [fill(js, value, dtype), fill(py, pyValue, dtype)];
      }
    }
    for (const [value, pyValue] of numbers) yield [fill(applied[0]!, value, dtype), fill(applied[1]!, pyValue, dtype)];
    for (const [array, pyArray] of arrays) {
      yield [`torch.tensor(${array}, { dtype: "${dtype}" })`, `torch.tensor(${pyArray}, dtype=torch.${dtype})`];
      yield [`torch.asTensor(${array}, { dtype: "${dtype}" })`, `torch.tensor(${pyArray}, dtype=torch.${dtype})`];
    }
  }
}

const setItem = '(lambda set_item: EXPRESSION)(lambda t, i, v: (t.__setitem__(i, v), t)[1])';

test('every number into every integer dtype, as in PyTorch', async () => {
  const all = [...calls()];
  const answers = await python(all.map(([, py]) => setItem.replace('EXPRESSION', () => py)));
  const wrong: string[] = [];
  let refused = 0;
  balanced(() =>
    torch.scope(() => {
      all.forEach(([js, py], n) => {
        const { value, error } = answers[n]!;
        let got: string;
        try {
          const tensor = new Function('torch', `return ${js}`)(untyped);
          got = `${tensor.dtype} ${[tensor.toArray()].flat()}`;
        } catch (caught) {
          const { code } = caught as { code?: string };
          got = String(code).startsWith('ERR_TORCH_') ? 'refused' : String(caught);
        }
        const { dtype, data } = (value ?? {}) as { dtype?: string; data?: unknown[] };
        // Python's JSON has all digits, JavaScript's reader rounds.
        const rounded = got.replace(/-?\d{17,}/, (digits) => String(Number(digits)));
        const expected = error === undefined ? `${dtype} ${data}` : 'refused';
        if (error !== undefined) refused++;
        if (rounded !== expected) wrong.push(`${js} | ${py}: ${got}, in Python ${expected} ${error ?? ''}`);
      });
    }),
  );
  expect(wrong).toEqual([]);
  expect(all.length).toBeGreaterThan(3000);
  expect(refused).toBeGreaterThan(1000);
});

const messages: readonly (readonly [data: unknown, dtype: string, text: string])[] = [
  [
    [
      [1, 2],
      [NaN, 4],
    ],
    'int32',
    "a number from -2147483648 to 2147483647 at data[1][0], for the dtype 'int32', got NaN",
  ],
  [Infinity, 'int8', "a number from -128 to 127 at data, for the dtype 'int8', got Infinity"],
  [[[[300]]], 'uint8', "a number from 0 to 255 at data[0][0][0], for the dtype 'uint8', got 300"],
  [
    [1n, 2n ** 40n],
    'int32',
    "a number from -2147483648 to 2147483647 at data[1], for the dtype 'int32', got 1099511627776n",
  ],
  [
    new Float64Array([1, 1e10]),
    'int32',
    "a number from -2147483648 to 2147483647 at data[1], for the dtype 'int32', got 10000000000",
  ],
  [
    [[1, 2], new Float32Array([1, 300])],
    'uint8',
    "a number from 0 to 255 at data[1][1], for the dtype 'uint8', got 300",
  ],
  [[1, 2 ** 63], 'int64', 'an integer of 64 bits at data[1], got 9223372036854776000'],
  [[2n ** 64n], 'bool', 'an integer of 64 bits at data[0], got 18446744073709551616n'],
  [[{ re: 1, im: 2 }], 'int32', "real numbers, for the dtype 'int32', got complex ones"],
  [[{ re: 1, im: 2 }], 'float32', "real numbers, for the dtype 'float32', got complex ones"],
];

test.each(messages)('%p as %s: the path, the expectation and the value', (data, dtype, text) => {
  for (const make of ['tensor', 'asTensor', 'asarray']) {
    const { code, message, op, argument } = thrown(() => untyped[make](data, { dtype }));
    expect({ code, message, op, argument }).toEqual({
      code: 'ERR_TORCH_ARGUMENT',
      message: `${make}: argument 'data': expected ${text}`,
      op: make,
      argument: 'data',
    });
  }
  const like = untyped.zeros([1], { dtype });
  expect(thrown(() => like.newTensor(data)).message).toBe(`newTensor: argument 'data': expected ${text}`);
  like.dispose();
});

test('fractional indices are refused, not truncated', () => {
  balanced(() =>
    torch.scope(() => {
      const t = torch.tensor([1, 2, 3]);
      for (const [index, path] of [
        [[1.5], 'indices[0][0]'],
        [[[0], [NaN]], 'indices[0][1][0]'],
      ] as const) {
        for (const use of [
          () => untyped.Tensor.prototype.at.call(t, index),
          () => untyped.Tensor.prototype.set.call(t, [index], 0),
        ]) {
          const { code, message } = thrown(use);
          expect(code).toBe('ERR_TORCH_ARGUMENT');
          expect(message).toContain(`expected an integer at ${path}`);
        }
      }
      expect(t.toArray()).toEqual([1, 2, 3]);
    }),
  );
});

test('arrays of another realm are checked alike', () => {
  balanced(() =>
    torch.scope(() => {
      for (const [source, dtype] of [
        ['new Float64Array([1, 2 ** 63])', 'int64'],
        ['new Float32Array([1, -1])', 'uint8'],
        ['[1, 2 ** 63]', 'int64'],
        ['new BigInt64Array([1n, 2n ** 40n])', 'int32'],
      ] as const) {
        const data = runInNewContext(source);
        expect(thrown(() => untyped.tensor(data, { dtype })).message).toContain('at data[1]');
      }
    }),
  );
});

test('a getter among the elements is read once', () => {
  balanced(() =>
    torch.scope(() => {
      let reads = 0;
      const row = Object.defineProperty([1, 2], 1, { get: () => (++reads === 1 ? 7 : 1e10) });
      expect(torch.tensor(row as number[], { dtype: 'int32' }).toArray()).toEqual([1, 7]);
      expect(reads).toBe(1);
    }),
  );
});
