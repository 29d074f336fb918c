/** Tensors from JavaScript data: all kinds of arrays, refusals with the place of the fault, shared memory. */
import { readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { run } from '../support/child';
import { release } from '../support/release';
import { balanced, codeOf, LIB, ROOT, thrown, torch, untyped } from '../support/torch';

const inScope = (fn: () => void) => () => balanced(() => torch.scope(fn));
const refusal = (fn: () => unknown): string => {
  const error = thrown(fn);
  expect(error.code).toBe('ERR_TORCH_ARGUMENT');
  return error.message;
};

const arrays = [
  [Int8Array, 'int8'],
  [Uint8Array, 'uint8'],
  [Uint8ClampedArray, 'uint8'],
  [Int16Array, 'int16'],
  [Int32Array, 'int32'],
  [Float32Array, 'float32'],
  [Float64Array, 'float64'],
] as const;

test.each(arrays)('%p', (type, dtype) =>
  balanced(() =>
    torch.scope(() => {
      const whole = new (type as any)([9, 1, 2, 3, 9]);
      const part = whole.subarray(1, 4);
      const copy = untyped.tensor(part);
      const shared = untyped.fromTypedArray(part, [3, 1]);
      expect([copy.dtype, copy.toArray(), shared.dtype, shared.toArray()]).toEqual([
        dtype,
        [1, 2, 3],
        dtype,
        [[1], [2], [3]],
      ]);
      shared.set([0, 0], 7);
      part[2] = 8;
      expect([...whole]).toEqual([9, 7, 2, 8, 9]);
      expect(shared.toArray()).toEqual([[7], [2], [8]]);
      expect(copy.toArray()).toEqual([1, 2, 3]);
      expect(copy.toTypedArray()).toEqual(
        type === (Uint8ClampedArray as unknown) ? new Uint8Array([1, 2, 3]) : new (type as any)([1, 2, 3]),
      );
      expect(untyped.tensor(part, { dtype: 'float64' }).dtype).toBe('float64');
      expect(untyped.tensor(new (type as any)(0)).shape).toEqual([0]);
    }),
  ),
);

test(
  'BigInt64Array, Buffer, and typed arrays as rows',
  inScope(() => {
    const big = new BigInt64Array([1n, -(2n ** 62n)]);
    const t = torch.fromTypedArray(big);
    expect([t.dtype, t.toArray()]).toEqual(['int64', [1, -(2n ** 62n)]]);
    big[0] = 5n;
    expect(t.at(0).item()).toBe(5);
    const bytes = torch.fromTypedArray(Buffer.from([1, 2, 255]));
    expect([bytes.dtype, bytes.toArray()]).toEqual(['uint8', [1, 2, 255]]);
    expect(untyped.tensor(Buffer.from('ab')).toArray()).toEqual([97, 98]);
    const rows = untyped.tensor([new Float64Array([1, 2]), new Float32Array([3, 4]), [5, 6]]);
    expect([rows.dtype, rows.toArray()]).toEqual([
      'float32',
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
    ]);
    const kinds = [
      ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Int32Array, Float32Array, Float64Array],
      ...[BigInt64Array, ...(release.startsWith('1.') ? [] : [BigUint64Array, Uint32Array, Uint16Array])],
    ];
    for (const Kind of kinds) {
      const row: any =
        Kind === BigInt64Array || Kind === BigUint64Array
          ? new (Kind as any)([3n, 2n ** 60n])
          : new (Kind as any)([3.1, 2 ** 31 - 1]);
      const [flat, twice] = [untyped.tensor(row), untyped.tensor([[row], [row]])];
      expect([Kind.name, twice.dtype, twice.toArray()]).toEqual([
        Kind.name,
        flat.dtype,
        [[flat.toArray()], [flat.toArray()]],
      ]);
    }
    expect(untyped.tensor([new Int32Array([16777217])], { dtype: 'float64' }).toArray()).toEqual([[16777217]]);
    expect(untyped.tensor([new Int32Array(0)]).dtype).toBe('int32');
    expect(codeOf(() => untyped.tensor([new Int32Array(1), new Int32Array(2)]))).toBe('ERR_TORCH_ARGUMENT');
  }),
);

test('ragged and mixed data is refused with the path to the wrong element', () => {
  const deep = (row: unknown) => [
    [
      [1, 2],
      [3, 4],
    ],
    [[5, 6], row],
  ];
  expect(refusal(() => untyped.tensor(deep([7])))).toContain('expected 2 elements at data[1][1], got 1 elements');
  expect(refusal(() => untyped.tensor(deep(7)))).toContain('expected an array of 2 at data[1][1], got 7');
  expect(refusal(() => untyped.tensor(deep([7, [8]])))).toContain('expected a number at data[1][1][1]');
  expect(refusal(() => untyped.tensor(deep([7, 8n])))).toContain(
    'expected a number at data[1][1][1], because the first element is a number, got 8n',
  );
  expect(refusal(() => untyped.tensor([1, true]))).toContain('at data[1]');
  expect(refusal(() => untyped.tensor([true, 0]))).toContain('expected a boolean at data[1]');
  expect(refusal(() => untyped.tensor([1n, 2n ** 64n]))).toContain('an integer of 64 bits at data[1]');
  expect(refusal(() => untyped.tensor([1n, 2]))).toContain('expected a bigint at data[1]');
  expect(refusal(() => untyped.tensor(new Array(2).fill(1, 0, 1)))).toContain('at data[1]'); // a hole
  expect(refusal(() => untyped.tensor([[1, 2], new Float32Array(3)]))).toContain(
    '2 elements at data[1], got 3 elements',
  );
  expect(refusal(() => untyped.tensor([new BigInt64Array(1), new Float32Array(1)]))).toContain(
    'a bigint at data[1][0]',
  );
  expect(refusal(() => untyped.tensor(2n ** 63n))).toContain('an integer of 64 bits at data, got');
  expect(refusal(() => untyped.tensor(['1']))).toContain("got '1'");
  const cycle: unknown[] = [];
  cycle.push(cycle);
  expect(refusal(() => untyped.tensor(cycle))).toContain('deeper nesting or a cycle');
});

test(
  'complex numbers, as toArray returns them',
  inScope(() => {
    const t = torch.tensor([[{ re: 1, im: -2 }], [new torch.Complex(0.5, 0)]]);
    expect([t.dtype, t.shape, String(t.flatten())]).toEqual(['complex64', [2, 1], 'tensor([1.0000-2.j, 0.5000+0.j])']);
    expect(torch.tensor(t.toArray()).equal(t)).toBe(true);
    expect(torch.tensor({ re: 1, im: 2 }).shape).toEqual([]);
    const wide = torch.tensor([{ re: 0.1, im: 1e300 }], { dtype: 'complex128' });
    expect(wide.at(0).item()).toEqual(new torch.Complex(0.1, 1e300));
    expect(refusal(() => untyped.tensor([{ re: 1, im: 2 }, 3]))).toContain('a complex number at data[1]');
    expect(refusal(() => untyped.tensor([{ re: 1 }]))).toContain('expected numbers');
    expect(refusal(() => untyped.tensor(undefined))).toContain('expected numbers');
  }),
);

test('fromTypedArray refuses a shape that does not fit the array', () => {
  const array = new Float32Array(4);
  expect(refusal(() => torch.fromTypedArray(array, [3]))).toBe(
    "fromTypedArray: argument 'shape': expected a shape of 4 elements, got [3], of 3",
  );
  for (const shape of [[-1, 4], [2.5], 4, '4'] as never[]) {
    expect(refusal(() => torch.fromTypedArray(array, shape))).toMatch(
      /expected (an array of sizes|a size) of 0 or more/,
    );
  }
});

test(
  'manualSeed takes the 64 bits of PyTorch’s seeds',
  inScope(() => {
    for (const [seed, same] of [
      [-1, 2n ** 64n - 1n],
      [-(2n ** 63n), 2n ** 63n],
    ] as const) {
      torch.manualSeed(seed);
      const first = torch.rand([3]);
      torch.manualSeed(same);
      expect(torch.rand([3]).equal(first)).toBe(true);
    }
    for (const wrong of [2n ** 64n, -(2n ** 63n) - 1n, 0.5, '1', null] as never[]) {
      expect(refusal(() => torch.manualSeed(wrong))).toContain('expected an integer from -2^63 to 2^64 - 1');
    }
  }),
);

test(
  'the elements of an efficient zero tensor, which is without memory',
  inScope(() => {
    const zero = untyped._efficientzerotensor([2, 2]);
    expect([...zero.toTypedArray()]).toEqual([0, 0, 0, 0]);
    expect(zero.toArray()).toEqual([
      [0, 0],
      [0, 0],
    ]);
  }),
);

test(
  'a DataView or an ArrayBuffer needs an explicit element type in frombuffer',
  inScope(() => {
    const view = new DataView(new ArrayBuffer(16), 8);
    view.setFloat32(0, 1.5, true);
    for (const memory of [view, view.buffer, new SharedArrayBuffer(8)]) {
      expect(refusal(() => untyped.tensor(memory))).toContain('torch.frombuffer');
      expect(refusal(() => untyped.fromTypedArray(memory))).toContain('torch.frombuffer');
    }
    const t = untyped.frombuffer(view, { dtype: 'float32' });
    expect(t.toArray()).toEqual([1.5, 0]);
    view.setFloat32(4, 2.5, true);
    expect(t.toArray()).toEqual([1.5, 2.5]);
    const odd = new DataView(new ArrayBuffer(16), 2, 8);
    expect(refusal(() => untyped.frombuffer(odd, { dtype: 'float32' }))).toContain('a multiple of 4 bytes');
    expect(refusal(() => untyped.frombuffer(new DataView(new ArrayBuffer(7)), { dtype: 'int16' }))).toContain(
      'got 7 bytes',
    );
  }),
);

test(
  'a detached buffer is refused; an empty array is not',
  inScope(() => {
    const gone = new Float32Array(4);
    structuredClone(gone.buffer, { transfer: [gone.buffer] });
    expect(gone.length).toBe(0);
    expect(refusal(() => torch.tensor(gone))).toContain('detached');
    expect(refusal(() => torch.fromTypedArray(gone))).toContain('detached');
    expect(torch.fromTypedArray(new Float32Array(0)).shape).toEqual([0]);
  }),
);

test(
  'shared memory is shared, also if it can grow; memory that can shrink is refused',
  inScope(() => {
    const shared = new Int32Array(new SharedArrayBuffer(8));
    const t = torch.fromTypedArray(shared);
    Atomics.store(shared, 1, 6);
    expect(t.toArray()).toEqual([0, 6]);
    t.add_(1);
    expect(Atomics.load(shared, 0)).toBe(1);
    const growable = Reflect.construct(SharedArrayBuffer, [8, { maxByteLength: 16 }]) as SharedArrayBuffer;
    const grown = torch.fromTypedArray(new Int32Array(growable, 0, 2));
    (growable as unknown as { grow(bytes: number): void }).grow(16);
    new Int32Array(growable)[1] = 3;
    expect(grown.toArray()).toEqual([0, 3]);
    const resizable = Reflect.construct(ArrayBuffer, [8, { maxByteLength: 16 }]) as ArrayBuffer;
    expect(refusal(() => torch.fromTypedArray(new Int32Array(resizable)))).toContain('a resizable buffer');
    expect(torch.tensor(new Int32Array(resizable)).toArray()).toEqual([0, 0]);
  }),
);

test('V8 does not get libtorch’s memory as an external buffer, which Electron forbids', () => {
  const { addonFile } = require(path.join(LIB, 'addon/native.js')) as { addonFile: string };
  const text = readFileSync(addonFile, 'latin1');
  expect(text).toContain('napi_create_object'); // the names of its Node-API imports are present
  // One byte that does not belong to a tensor, and is optional: native/env/end_sentinel.h.
  const asked = new Set(text.match(/napi_create_external_\w+/g));
  expect([...asked]).toEqual(['napi_create_external_buffer']);
  const native = path.join(ROOT, 'native');
  const sources = (readdirSync(native, { recursive: true }) as string[]).filter((name) => name.endsWith('.cpp'));
  const users = sources.filter((name) =>
    readFileSync(path.join(native, name), 'utf8').includes('napi_create_external_'),
  );
  expect(users).toEqual(['env/end_sentinel.cpp']);
});

test('ten million elements, nested and flat: correct, with the memory of a plain copy', async () => {
  const program = `
    const torch = require(${JSON.stringify(LIB)});
    const N = 10_000_000;
    const at = [0, 1, 12_345, 9_999_999];
    const answer = [];
    const check = (data, options) => torch.scope(() => {
      const t = torch.tensor(data, options);
      const flat = t.view([-1]);
      answer.push([t.dtype, t.shape, at.map((i) => Number(flat.at(i).item()))]);
    });
    const flat = Array.from({ length: N }, (_, i) => i);
    check(flat);
    check(flat, { dtype: 'float64' });
    check(flat, { dtype: 'int64' });
    check(Array.from({ length: 1000 }, (_, r) => flat.slice(r * 10_000, (r + 1) * 10_000)));
    check(flat.map((i) => i % 2 === 1));
    check(Float32Array.from(flat));
    console.log(JSON.stringify(answer));
  `;
  const { code, stdout, stderr } = await run(process.execPath, ['-e', program]);
  expect([code, stderr]).toEqual([0, '']);
  const at = [0, 1, 12_345, 9_999_999];
  const flat = [10_000_000];
  expect(JSON.parse(stdout)).toEqual([
    ['float32', flat, at],
    ['float64', flat, at],
    ['int64', flat, at],
    ['float32', [1000, 10_000], at],
    ['bool', flat, [0, 1, 1, 1]],
    ['float32', flat, at],
  ]);
});
