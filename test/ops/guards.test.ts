/** Guards (codegen/spec/guards): calls that end the process of PyTorch are errors here, in every form of a call. */
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import type { Tensor } from '../../types';
import { run } from '../support/child';
import { release } from '../support/release';
import { ordinaryEnv } from '../support/sanitized';
import { LIB, settled, thrown, torch, untyped } from '../support/torch';

interface Call {
  call: string;
  name: string;
  /** It writes into the memory of others: whether the process dies depends on what is there. */
  corrupts?: boolean;
  /** Only with these does the process die. On others, the kernel has a result or an error, and a guard may be missing. */
  releases?: string[];
}

const file = path.join(__dirname, 'guards.json');
const calls = (JSON.parse(readFileSync(file, 'utf8')) as Call[]).filter(
  ({ releases }) => releases === undefined || releases.includes(release),
);
const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

/** How each of the calls ended in Python. With `fill`, memory is filled with that byte when it is freed. */
async function endsInPython(some: readonly Call[], fill = 0): Promise<string[]> {
  const { stdout, stderr, code } = await run('/usr/bin/python3', [path.join(__dirname, 'crash_oracle.py')], {
    input: some.map((call) => `${JSON.stringify(call)}\n`).join(''),
    env: {
      ...ordinaryEnv(),
      LD_PRELOAD: 'libc_malloc_debug.so.0',
      MALLOC_CHECK_: '3',
      MALLOC_PERTURB_: String(fill),
    },
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const ends = linesOf(stdout).map(({ end }) => (end === 'hang' ? 'crash' : (end as string)));
  expect(ends.length).toBe(some.length);
  return ends;
}

test('Python dies of each of the calls, if it does not go on with corrupt memory', async () => {
  // A later release may have fixed its kernel, and gives an error.
  const allowed = ({ corrupts }: Call) => [
    'crash',
    ...(release === '1.13' ? [] : ['error']),
    ...(corrupts === true ? ['result'] : []),
  ];
  let left = calls;
  let crashes = 0;
  // A kernel that takes a number from the memory of others may find one that it refuses, or that does no harm: such a
  // call is made again where that memory is filled differently.
  for (const fill of [0, 0x55, 0xaa, 0xff]) {
    if (left.length === 0) break;
    const ends = await endsInPython(left, fill);
    crashes += ends.filter((end) => end === 'crash').length;
    left = left.filter((call, i) => !allowed(call).includes(ends[i]!));
  }
  expect(left.map(({ call }) => call)).toEqual([]);
  expect(crashes).toBeGreaterThan(calls.length / 2);
}, 120_000);

test('each is an error that names the op and the argument, and nothing is left', async () => {
  const { stdout, signal } = await run(process.execPath, [path.join(__dirname, 'guards.cjs'), LIB]);
  expect(signal).toBeNull();
  const lines = linesOf(stdout);
  expect(lines.length).toBe(calls.length);
  for (const [i, told] of lines.entries()) {
    expect(told).toEqual({ call: calls[i]!.call, code: 'ERR_TORCH_RUNTIME', message: expect.any(String), tensors: 0 });
    expect(told.message).toMatch(new RegExp(`^aten::${calls[i]!.name}(\\.\\w+)?: \\w+: expected .+, got .+`));
  }
});

test('a condition falls away where libtorch has fixed the kernel', () => {
  const { aten } = untyped.ops;
  torch.scope(() => {
    const nothing = torch.ones([2, 0, 2]);
    const zeros = aten._efficientzerotensor.default([2, 3], { dtype: 'float32' });
    const since: [release: string, shape: number[], call: () => Tensor][] = [
      [
        '2.6',
        [2, 0, 2],
        () => aten.native_batch_norm.default(nothing, ...Array(4).fill(torch.ones([0])), false, 0.1, 1e-5)[0],
      ],
      ['2.14', [1], () => aten.special_hermite_polynomial_he.n_scalar(torch.ones([1]), 1e18)],
      ['2.14', [1], () => aten.special_chebyshev_polynomial_t.default(torch.ones([1]), torch.full([1], 1e18))],
      ['2.14', [], () => aten.nanmean.out(zeros, [], false, { out: torch.ones([]) })],
    ];
    const order = ['1.13', '2.6', '2.14'];
    for (const [first, shape, call] of since) {
      const isFixed = order.indexOf(release) >= order.indexOf(first);
      if (isFixed) expect(call().shape).toEqual(shape);
      else expect(thrown(call).message).toContain(': expected ');
    }
  });
});

test('so many combinations that their sizes alone would take all memory', () => {
  const x = torch.ones([1]);
  // libtorch is not asked: 2^31 takes more memory than a machine has, and the system may end another process.
  expect(() => untyped.combinations(x, 2 ** 31, true)).toThrow(
    /^aten::combinations: r: expected at most 4096, got 2147483648/,
  );
  const most = untyped.combinations(x, 512, true);
  expect(most.shape).toEqual([1, 512]);
  torch.disposeAll([x, most]);
});

test('one spacing for several dimensions, of which libtorch 1.13 reads more', () => {
  torch.scope(() => {
    const x = torch.ones([2, 3, 4]);
    // Python gives an error too, or ends, by what is in the memory after the list.
    for (const spacing of [[1], [torch.ones([2])]])
      expect(() => untyped.gradient(x, { spacing })).toThrow(/expected .*3/);
    expect(untyped.gradient(x, { spacing: [1], dim: 0 }).length).toBe(1);
    expect(untyped.gradient(x, { spacing: [1, 2, 1] }).length).toBe(3);
  });
});

test('each is an error in torch.async, in torch.run and by name too', async () => {
  const x = torch.rand([10, 4]);
  const message = 'bins: expected 4 numbers (one for each column of self), got 1';
  await expect(torch.async.histogramdd(x, [1])).rejects.toThrow(message);
  await expect(torch.run(async (T) => (await T.histogramdd(x, [1])).hist)).rejects.toThrow(message);
  expect(() => torch.histogramdd(x, [1])).toThrow(message);
  const [counts] = torch.histogramdd(x, [1, 2, 1, 1]);
  expect([counts.shape, counts.sum().item()]).toEqual([[1, 2, 1, 1], 10]);
});

test('calls beside them that PyTorch makes give its shapes', () => {
  const { ops } = untyped;
  torch.scope(() => {
    const shapes = (result: any): number[][] => [result].flat().map((one) => one.shape);
    const [x, c] = [torch.ones([2, 3, 4, 4]), torch.ones([3])];
    // A batch norm in evaluation saves nothing.
    const [, mean, invstd] = ops.aten.native_batch_norm.default(x, c, c, c, c, false, 0.1, 1e-5);
    const back = [x, x, c, c, c, mean, invstd, false, 1e-5, [true, true, true]];
    expect(shapes(ops.aten.native_batch_norm_backward.default(...back))).toEqual([[2, 3, 4, 4], [3], [3]]);
    const none = torch.ones([0, 3, 4, 4]);
    const ofNone = [0, none, none, c, c, c, c, c, true, 1e-5, [true, true, true], torch.empty([0], { dtype: 'uint8' })];
    expect(shapes(ops.aten._batch_norm_impl_index_backward.default(...ofNone))).toEqual([[0, 3, 4, 4], [3], [3]]);
    const norm = (v: number[], g: number[], dim: number) =>
      shapes(ops.aten._weight_norm.default(torch.ones(v), torch.ones(g), dim))[0];
    expect([norm([4, 0], [4, 1], 0), norm([0, 4], [1, 4], 1), norm([0, 4, 2], [1, 4, 1], 1)]).toEqual([
      [4, 0],
      [0, 4],
      [0, 4, 2],
    ]);
    // Lengths that a view negates, and zeros without memory.
    const segments = (lengths: any) => torch.segmentReduce(torch.ones([6]), 'sum', { lengths, unsafe: true }).toArray();
    const longs = { dtype: 'int64' } as const;
    expect(segments(ops.aten._neg_view.default(torch.tensor([-2, -4], longs)))).toEqual([2, 4]);
    expect(segments(ops.aten._efficientzerotensor.default([2], longs))).toEqual([0, 0]);
    expect(() => segments(ops.aten._neg_view.default(torch.tensor([2, 4], longs)))).toThrow(
      'lengths: expected integers for lengths',
    );
    expect(() => segments(ops.aten._neg_view.default(torch.tensor([-2, -5], longs)))).toThrow(
      'got others for data [6]',
    );
    const rows = torch.zeros([0, 3], { requiresGrad: true });
    expect(torch.noGrad(() => torch.pdist(rows)).shape).toEqual([0]);
    const spectrum = torch.zeros([0, 3], { dtype: 'complex64' });
    expect(shapes(ops.aten._fft_c2r.default(spectrum, [1], 0, 4))).toEqual([[0, 4]]);
  });
});

test("integer division beside them gives PyTorch's results", () => {
  torch.scope(() => {
    const ints = (...values: number[]) => torch.tensor(values, { dtype: 'int32' });
    const lowest = -(2 ** 31);
    expect(ints(lowest, 7).floorDivide(ints(2, -1)).toArray()).toEqual([-(2 ** 30), -7]);
    expect(
      ints(lowest + 1, 7)
        .floorDivide(-1)
        .toArray(),
    ).toEqual([2 ** 31 - 1, -7]);
    expect(ints(lowest).remainder(3).item()).toBe(1);
    expect(
      ints(lowest)
        .lcm(torch.tensor([3n]))
        .item(),
    ).toBe(3 * 2 ** 31);
    expect(ints(lowest).div(-1).item()).toBe(2 ** 31);
    expect(torch.tensor([-128], { dtype: 'int8' }).floorDivide(-1).dtype).toBe('int8');
    // A number of zero dimensions takes the type of the others: this one is -1 as an int32.
    const wide = torch.tensor(2 ** 32 - 1, { dtype: 'int64' });
    expect(() => ints(1, lowest).t().div(wide, { roundingMode: 'trunc' })).toThrow('numbers other than -1');
    const strided = torch.stack([ints(lowest, 0), ints(5, 5)]).t();
    expect(() => strided.div(-1, { roundingMode: 'trunc' })).toThrow('numbers other than -1');
    expect(() => torch.tensor([0, lowest], { dtype: 'int32' }).toSparse().div(-1, { roundingMode: 'trunc' })).toThrow();
  });
});

test('set_ gives no view of foreign memory', () => {
  torch.scope(() => {
    const x = torch.ones([4]);
    // libtorch 2.6 and earlier look only if the sizes change.
    expect(() => x.set_(torch.ones([4]), 2 ** 40, [4], [1])).toThrow(/storage/);
    expect(x.set_(torch.ones([4]), 1, [2], [2]).toArray()).toEqual([1, 1]);
    expect(x.set_(torch.ones([3]), 1, [2], [1]).shape).toEqual([2]);
  });
});

test('calls after which PyTorch may go on, having used the memory of others, are errors', () => {
  const { ops } = untyped;
  const before = settled();
  torch.scope(() => {
    const [none, x] = [torch.empty([2, 0, 2]), torch.ones([1])];
    const indices = torch.empty([0], { dtype: 'int64' });
    const zeros = ops.aten._efficientzerotensor.default([2, 2], { dtype: 'int64' });
    const infinite = torch.full([3, 3], Number.POSITIVE_INFINITY);
    const volume = torch.ones([1, 1, 2, 2, 2]);
    const [ints, negated] = [torch.ones([2], { dtype: 'int16' }), ops.aten._neg_view.default(torch.zeros([2]).short())];
    const matrices = torch.ones([2, 8, 8]);
    const empty = torch.ones([3, 0]); // only several threads divide by its size
    const called: [string, () => unknown][] = [
      ['count', () => torch.binomial(torch.tensor([1, Number.NaN]), torch.tensor([0.5, 0.5]))],
      ['n', () => torch.linalg.matrixPower(torch.eye(2), -(2n ** 63n))],
      ['gradOutput', () => ops.aten._masked_softmax_backward.default(empty, empty, torch.ones([3, 0]).bool(), 1)],
      ['values', () => ops.aten._cummin_helper.default(ints, negated, torch.zeros([2], { dtype: 'int64' }), 0)],
      ['values', () => ops.aten.median.dim_values(none, 0, false, { values: none, indices })],
      ['values', () => ops.aten.nanmedian.dim_values(none, 0, false, { values: none, indices })],
      ['values', () => ops.aten.median.dim_values(volume, 0, false, { values: volume, indices })],
      ['out', () => torch.linalg.eigvalsh(matrices, { out: matrices })],
      ['self', () => torch.linalg.eigvals(infinite)],
      ['storageOffset', () => torch.asStrided(x, [1], [0], 2n ** 63n - 1n)],
      ['storageOffset', () => ops.aten.as_strided_copy.default(x, [1], [0], 2n ** 62n)],
      ['self', () => torch.scope(() => torch.transpose(none.toMkldnn(), 0, 1))],
      ['self', () => torch.scope(() => none.view([2, 0]).toMkldnn().t())],
      ['self', () => torch.scope(() => none.toMkldnn().swapdims(1, 0))],
      [
        'input',
        () => ops.aten.native_batch_norm.default(volume.view([1, 1, 8]), null, null, null, null, false, 0.1, 0.1),
      ],
      ['indices', () => ops.aten.index.Tensor(torch.ones([2, 2]), [zeros])],
      ['indices', () => ops.aten.index_put_.default(torch.ones([2, 2]), [zeros], torch.ones([2, 2]))],
      ['scalesD', () => ops.aten.upsample_trilinear3d.default(volume, [64, 2, 2], false, 0.5)],
      ['scales', () => ops.aten.upsample_linear1d_backward.default(volume.view([1, 1, 8]), [8], [1, 1, 4], false, 0.5)],
      ['storageOffset', () => ops.aten.set_.source_Storage_storage_offset(x, torch.ones([64]).storage(), 64, [1])],
      ['source', () => ops.aten.set_.source_Tensor_storage_offset(x, torch.ones([64]), 1048576, [1])],
      ['step', () => ops.aten.unfold_backward.default(torch.ones([4], { dtype: 'int64' }), [], 0, -100, 64)],
      ['out', () => ops.aten._logcumsumexp.out(torch.ones([8], { dtype: 'float64' }), 0, { out: torch.empty([8]) })],
    ];
    if (ops.aten.nanmedian.names_dim_values !== undefined) {
      const named = torch.ones([2, 3]).rename('A', 'B');
      called.push(['values', () => untyped.nanmedian(named, 'A', { values: named, indices })]);
    }
    for (const [argument, call] of called) expect(call).toThrow(new RegExp(`: ${argument}: expected .+, got .+`));
    // Beside them:
    expect(ops.aten.upsample_linear1d.default(torch.ones([1, 1, 4]), [8], false, 2).shape).toEqual([1, 1, 8]);
    expect(ops.aten.set_.source_Storage_storage_offset(x, torch.ones([64]).storage(), 63, [1], [1]).item()).toBe(1);
    expect(ops.aten.unfold_backward.default(torch.ones([3, 2]), [4], 0, 2, 1).toArray()).toEqual([1, 2, 2, 1]);
  });
  expect(settled()).toEqual(before);
});

test.each([
  ['_foreach_add_.ScalarList', [[1]]],
  ['_foreach_add.ScalarList', [[]]],
  ['_foreach_mul_.ScalarList', [[1, 2, 3]]],
  ['_foreach_div_.List', ['one']],
  ['_foreach_addcmul_.Scalar', ['two', 'one']],
  ['_foreach_addcdiv_.ScalarList', ['two', 'two', [1]]],
] as [string, (number[] | 'one' | 'two')[]][])('%s with lists of other lengths, in a graph', (name, lists) => {
  const [op, overload] = name.split('.') as [string, string];
  torch.scope(() => {
    const graph = () => torch.ones([2, 2], { dtype: 'float32' }).requiresGrad_().mul(1);
    const values = lists.map((list) => (list === 'one' ? [graph()] : list === 'two' ? [graph(), graph()] : list));
    const error = thrown(() => untyped.ops.aten[op][overload]([graph(), graph()], ...values));
    expect(error.message).toMatch(
      new RegExp(`^aten::${op}\\.${overload}: \\w+: expected 2 \\(one for each tensor of self\\), got `),
    );
  });
});
