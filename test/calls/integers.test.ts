/**
 * JavaScript's numbers as elements of integer dtypes: values that PyTorch refuses are refused with the path to the element,
 * and values that it accepts become the same integer.
 */
import * as path from 'node:path';
import { runInNewContext } from 'node:vm';
import { ask } from '../support/child';
import { python } from '../support/python';
import { release } from '../support/release';
import { balanced, LIB, thrown, torch, untyped } from '../support/torch';

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
  ...['1.5', '-1.5', '-0.4', '-0.99', '-0.0', '255', '255.5', '300', '-1', '1e10', 'NaN', '-Infinity'].flatMap(
    (value) => {
      const float = value === 'NaN' ? 'math.nan' : value === '-Infinity' ? '-math.inf' : `float(${value})`;
      return [
        [`new Float64Array([${value}])`, `__import__("array").array("d", [${float}])`],
        [`new Float32Array([${value}])`, `__import__("array").array("f", [${float}])`],
      ] as const;
    },
  ),
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

/** Libtorch 2.14 looks at a positive number without its fraction. */
const cutsFractions = release === '2.14';
const cut = (value: number) =>
  value > 0 && Number.isFinite(value) && !Number.isInteger(value) ? Math.trunc(value) : value;

test('native code and JavaScript have the same rule', () => {
  const { native } = require(path.join(LIB, 'addon/native.js'));
  const { wrap } = require(path.join(LIB, 'tensor/tensor.js'));
  const { firstOutside } = require(path.join(LIB, 'errors/integers.js'));
  const { dtypeCodes } = require(path.join(LIB, 'addon/enums.js')) as { dtypeCodes: Map<string, number> };
  const near = [
    0,
    1,
    127,
    128,
    255,
    256,
    32767,
    32768,
    65535,
    65536,
    2 ** 31,
    2 ** 32,
    2 ** 53,
    2 ** 63,
    2 ** 64,
    1e300,
  ];
  const values = near.flatMap((n) => [-1, -0.5, -(2 ** -30), 0, 2 ** -30, 0.5, 1].flatMap((d) => [n + d, -n - d]));
  values.push(NaN, Infinity, -Infinity, -0, 2 ** 63 - 1024, 2 ** 64 - 2048, -(2 ** 63) - 2048);
  const whole = values.filter((value) => Number.isInteger(value) && Math.abs(value) <= 2 ** 64).map(BigInt);
  const sources: [string, ArrayLike<unknown> & ArrayBufferView][] = [
    ['float64', new Float64Array(values)],
    ['float32', new Float32Array(values)],
    ['int64', new BigInt64Array(whole)],
    ['uint64', new BigUint64Array(whole)],
    ...([Int8Array, Uint8Array, Int16Array, Uint16Array, Int32Array, Uint32Array] as const).map(
      (Type): [string, Int8Array | Uint8Array] => [Type.name.slice(0, -5).toLowerCase(), new Type(values) as Int8Array],
    ),
  ];
  let asked = 0;
  balanced(() =>
    torch.scope(() => {
      for (const [natural, array] of sources) {
        for (const wanted of ['uint8', 'int8', 'int16', 'int32', 'int64', 'uint16', 'uint32', 'uint64']) {
          if (natural === wanted || !dtypeCodes.has(natural) || !dtypeCodes.has(wanted)) continue;
          for (const floats of natural === 'float64' ? [true, false] : [natural === 'float32']) {
            for (let i = 0; i < array.length; i++) {
              const one = (array as Float64Array).slice(i, i + 1);
              const [from, to] = [dtypeCodes.get(natural), dtypeCodes.get(wanted)];
              const made = wrap(native.fromNumbers(one, [1], from, null, to, floats));
              const fits = firstOutside(cutsFractions ? one.map(cut) : one, wanted, floats) < 0;
              if ((made !== null) !== fits)
                throw new Error(`${natural} ${one[0]} as ${wanted}, floats ${floats}: ${fits}`);
              asked++;
            }
          }
        }
      }
    }),
  );
  expect(asked).toBeGreaterThan(5000);
});

test('an element that does not fit is found in any place', () => {
  balanced(() =>
    torch.scope(() => {
      for (const at of [0, 1, 1023, 1024, 2047, 2999]) {
        const [floats, wide] = [new Float64Array(3000), new BigInt64Array(3000)];
        floats[at] = 300;
        wide[at] = 300n;
        const data: [unknown, string][] = [
          [floats, `[${at}]`],
          [Array.from(floats), `[${at}]`],
          [
            Array.from({ length: 300 }, (_, row) => floats.slice(10 * row, 10 * row + 10)),
            `[${Math.floor(at / 10)}][${at % 10}]`,
          ],
          [wide, `[${at}]`],
        ];
        for (const [given, where] of data) {
          expect(thrown(() => untyped.tensor(given, { dtype: 'uint8' })).message).toContain(
            `at data${where}, for the dtype 'uint8', got 300`,
          );
        }
        floats[at] = 200;
        expect(torch.tensor(floats, { dtype: 'uint8' }).sum().item()).toBe(200);
      }
      // Rows of floats among arrays of numbers: -1 is a float in the former and an integer in the latter.
      expect(torch.tensor([[-1, 2]], { dtype: 'uint8' }).toArray()).toEqual([[255, 2]]);
      expect(
        thrown(() => torch.tensor([[-1, 2], new Float32Array([3, -1])] as number[][], { dtype: 'uint8' })).message,
      ).toContain('at data[1][1]');
    }),
  );
});

test('numbers become integers without an intermediate tensor', async () => {
  const peaks = await ask(`
    const data = new Float64Array(1e6);
    const peakOf = (given) => {
      const before = torch.memory().allocatedBytes;
      torch.tensor(given, { dtype: 'uint8' }).dispose();
      return torch.memory().peakAllocatedBytes - before;
    };
    answer([data, new BigInt64Array(1e6), Array.from(data)].map(peakOf));
  `);
  expect(peaks).toEqual([1e6, 1e6, 1e6]);
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
