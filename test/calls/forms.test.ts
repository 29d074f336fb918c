/** The forms of a call: positional, by name, mixed, defaults, out, lists, scalars, names, results. */
import type { Tensor } from '../../types';
import { hasDimensionNames } from '../support/release';
import { balanced, codeOf, thrown, torch, untyped } from '../support/torch';

const inScope = (fn: () => void) => () => balanced(() => torch.scope(fn));
const x = () =>
  torch.tensor([
    [1, 2, 3],
    [4, 5, 6],
  ]);

test('full has the dtype of its value unless another is given, also in torch.async and torch.run', async () => {
  using _scope = torch.openScope();
  for (const options of [{}, { dtype: undefined }, { dtype: null }, { out: undefined }]) {
    for (const [value, dtype] of [
      [1, 'float32'],
      [1n, 'int64'],
      [true, 'bool'],
    ] as const) {
      expect(untyped.full([1], value, options).dtype).toBe(dtype);
      expect(untyped.full({ size: [1], fillValue: value, ...options }).dtype).toBe(dtype);
      expect((await untyped.async.full([1], value, options)).dtype).toBe(dtype);
      expect((await torch.run((t) => t.full([1], value, options as object))).dtype).toBe(dtype);
    }
  }
  expect((await torch.async.full([1], 1, { dtype: 'int32' })).dtype).toBe('int32');
  expect((await torch.async.full([1], Promise.resolve(1) as never)).dtype).toBe('float32');
});

test(
  'positional, named, mixed and default arguments give the same result',
  inScope(() => {
    const forms = [
      x().sum([1], true),
      x().sum({ dim: [1], keepdim: true }),
      x().sum([1], { keepdim: true }),
      untyped.sum(x(), [1], true),
      untyped.sum(x(), { dim: [1], keepdim: true }),
      untyped.sum({ input: x(), dim: [1], keepdim: true }),
      untyped.sum({ self: x(), dim: 1, keepdim: true }),
      x().sum(1, true),
      untyped.ops.aten.sum.dim_IntList(x(), [1], true),
    ];
    for (const form of forms) expect(form.toArray()).toEqual([[6], [15]]);
    expect(x().sum().item()).toBe(21);
    expect(x().sum([1]).toArray()).toEqual([6, 15]);
    expect(torch.add(x(), x(), { alpha: 2 }).toArray()).toEqual([
      [3, 6, 9],
      [12, 15, 18],
    ]);
    expect(x().sum([0], undefined, undefined).shape).toEqual([3]);
  }),
);

test(
  'creation with options: dtype, device, layout, requiresGrad',
  inScope(() => {
    const t = torch.zeros([2, 3], { dtype: 'int64', device: 'cpu', layout: 'strided' });
    expect([t.dtype, t.shape, t.device, t.layout]).toEqual(['int64', [2, 3], 'cpu', 'strided']);
    expect(torch.ones([2], { requiresGrad: true }).requiresGrad).toBe(true);
    expect(torch.zeros([2], { dtype: torch.float64 }).dtype).toBe('float64');
    expect(torch.float32).toBe('float32');
    expect(codeOf(() => untyped.zeros([2], { dtype: 'float33' }))).toBe('ERR_TORCH_OVERLOAD');
    expect(codeOf(() => untyped.zeros([2], { device: 'nowhere' }))).toMatch(/^ERR_TORCH_/);
    expect(x().to('float64').dtype).toBe('float64');
    expect(x().to({ dtype: 'int32' }).dtype).toBe('int32');
  }),
);

test(
  'out takes one tensor or several, and returns the same objects',
  inScope(() => {
    const out = torch.empty([0]);
    expect(untyped.add(x(), x(), { out })).toBe(out);
    expect(out.toArray()).toEqual([
      [2, 4, 6],
      [8, 10, 12],
    ]);
    const values = torch.empty([0]);
    const indices = torch.empty([0], { dtype: 'int64' });
    const result = untyped.sort(x(), { dim: 1, descending: true, out: [values, indices] });
    expect(result[0]).toBe(values);
    expect(result[1]).toBe(indices);
    expect(result.indices).toBe(indices);
    expect((values as Tensor).at(0).toArray()).toEqual([3, 2, 1]);
    expect(codeOf(() => untyped.sort(x(), { out: [values] }))).toBe('ERR_TORCH_OVERLOAD');
    const pooled = torch.empty([0]);
    const where = torch.empty([0], { dtype: 'int64' });
    untyped.ops.aten.max_pool2d_with_indices.out(torch.ones([1, 2, 2]), [2, 2], { out: pooled, indices: where });
    expect(pooled.toArray()).toEqual([[[1]]]);
  }),
);

test(
  'a number is accepted for int[N]; sizes may be spread',
  inScope(() => {
    const image = torch.ones([1, 1, 4, 4]);
    expect(torch.nn.functional.avgPool2d(image, 2).shape).toEqual([1, 1, 2, 2]);
    expect(torch.nn.functional.avgPool2d(image, [2, 2]).shape).toEqual([1, 1, 2, 2]);
    expect(x().view(3, 2).shape).toEqual([3, 2]);
    expect(x().view([3, 2]).shape).toEqual([3, 2]);
    expect(untyped.zeros(2, 3).shape).toEqual([2, 3]);
    expect(untyped.zeros(2, 3, { dtype: 'bool' }).dtype).toBe('bool');
    expect(x().permute(1, 0).shape).toEqual([3, 2]);
    for (let n = 1; n <= 6; n++) expect(untyped.zeros(...new Array(n).fill(n)).shape).toEqual(new Array(n).fill(n));
    expect(codeOf(() => untyped.zeros(2, 2.5))).toBe('ERR_TORCH_OVERLOAD');
  }),
);

test(
  'in-place ops return the same object; void ops return undefined',
  inScope(() => {
    const t = x();
    expect(t.add_(1)).toBe(t);
    expect(t.relu_()).toBe(t);
    expect(untyped.relu_(t)).toBe(t);
    expect(t.mul_({ other: 2 } as never)).toBe(t);
    expect(untyped.ops.aten.add_.Tensor(t, t)).toBe(t);
    expect(untyped.ops.aten._backward.default(torch.ones([1], { requiresGrad: true }).mul(1), [])).toBeUndefined();
  }),
);

test(
  'a tuple is an array with names',
  inScope(() => {
    const { values, indices } = x().max(1);
    expect([values.toArray(), indices.toArray()]).toEqual([
      [3, 6],
      [2, 2],
    ]);
    const [v, i] = x().max(1);
    expect([v.toArray(), i.toArray()]).toEqual([
      [3, 6],
      [2, 2],
    ]);
    expect(Object.keys(x().max(1))).toEqual(['0', '1']);
    expect(untyped.linalg.qr(torch.eye(2)).Q.shape).toEqual([2, 2]);
  }),
);

test(
  'lists of tensors in and out',
  inScope(() => {
    expect(torch.cat([x(), x()]).shape).toEqual([4, 3]);
    expect(
      x()
        .split(2, 1)
        .map((t) => t.shape),
    ).toEqual([
      [2, 2],
      [2, 1],
    ]);
    expect(untyped.meshgrid([torch.arange(2), torch.arange(3)], { indexing: 'ij' })[0].shape).toEqual([2, 3]);
  }),
);

test(
  'int64 beyond 2^53 is a bigint, in and out',
  inScope(() => {
    const big = 2n ** 62n + 1n;
    const t = torch.tensor([big, 5n]);
    expect(t.dtype).toBe('int64');
    expect(t.toArray()).toEqual([big, 5]);
    expect(t.at(0).item()).toBe(big);
    expect(t.at(1).item()).toBe(5);
    expect(untyped.full([1], big).item()).toBe(big);
    expect(
      torch
        .tensor([5n])
        .add(big as never)
        .item(),
    ).toBe(big + 5n);
    expect(untyped.zeros([2n, 3n]).shape).toEqual([2, 3]);
    expect(codeOf(() => torch.tensor([5n]).add((2n ** 64n) as never))).toBe('ERR_TORCH_ARGUMENT');
    expect(codeOf(() => torch.tensor([2n ** 63n]))).toBe('ERR_TORCH_ARGUMENT');
  }),
);

test(
  'complex in and out',
  inScope(() => {
    const z = untyped.tensor([1, 2]).to('complex64').mul(new torch.Complex(0, 1));
    expect(z.dtype).toBe('complex64');
    expect(z.at(0).item()).toEqual({ re: 0, im: 1 });
    expect(z.add({ re: 1, im: 1 }).at(1).item()).toEqual({ re: 1, im: 3 });
    expect(z.abs().toArray()).toEqual([1, 2]);
  }),
);

test(
  'dimension names',
  inScope(() => {
    const make = () => untyped.zeros([2, 3], { names: ['rows', 'columns'] });
    if (!hasDimensionNames) return expect(codeOf(make)).toBe('ERR_TORCH_OVERLOAD');
    const t = make();
    expect(t.sum(['columns']).shape).toEqual([2]);
    expect(t.sum('rows').shape).toEqual([3]);
    expect(t.select('rows', 0).shape).toEqual([3]);
    expect(codeOf(() => t.sum('nothing'))).toMatch(/^ERR_TORCH_/);
  }),
);

test(
  'zero-dimensional tensors are accepted as numbers, unless their gradient would be lost',
  inScope(() => {
    expect(untyped.full([2], torch.tensor(3)).toArray()).toEqual([3, 3]);
    expect(untyped.full([2], torch.tensor(3n)).dtype).toBe('int64');
    expect(torch.arange(torch.tensor(3n) as never).numel).toBe(3);
    expect(codeOf(() => untyped.arange(torch.tensor([3, 4])))).toBe('ERR_TORCH_OVERLOAD');
  }),
);

test(
  'names: camelCase, underscores at the ends, namespaces, reserved words',
  inScope(() => {
    for (const name of ['logSoftmax', 'relu_', '_castFloat', 'addmm', '__and__'])
      expect(typeof untyped[name]).toBe('function');
    for (const name of ['logSoftmax', 'add_', 'indexPut_'])
      expect(typeof untyped.Tensor.prototype[name]).toBe('function');
    for (const [space, name] of [
      ['linalg', 'norm'],
      ['fft', 'fft'],
      ['special', 'erf'],
      ['sparse', 'mm'],
    ]) {
      expect(typeof untyped[space!][name!]).toBe('function');
    }
    expect(typeof torch.nn.functional.gelu).toBe('function');
    expect(torch.linalg.norm(torch.tensor([3, 4])).item()).toBe(5);
    expect(torch.ones([2, 2]).view({ size: [4] } as never).shape).toEqual([4]);
  }),
);

describe('ERR_TORCH_OVERLOAD', () => {
  test(
    'lists every signature and which argument failed',
    inScope(() => {
      const error = thrown(() => untyped.add(x(), 'two'));
      expect(error).toMatchObject({ name: 'TypeError', code: 'ERR_TORCH_OVERLOAD', op: 'add' });
      expect(error.message).toContain('add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor');
      expect(error.message).toContain(
        'add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)',
      );
      expect(error.message).toContain("argument 'other': expected a Tensor or number, got 'two'");
      expect(error.message).toContain("(a Tensor float32[2, 3], 'two')");
    }),
  );
  const cases: [string, () => unknown, string][] = [
    ['missing', () => untyped.matmul(x()), "argument 'other' is missing"],
    ['too many', () => untyped.relu(x(), 1, 2), 'takes 1 positional argument, got 3'],
    ['unknown option', () => untyped.relu(x(), { inplace: true }), "there is no option 'inplace'"],
    ['given twice', () => untyped.sum(x(), [1], { dim: [0] }), "argument 'dim' is given twice"],
    ['wrong element', () => untyped.cat([x(), 1]), 'at [1]'],
    ['no out', () => (x() as any).view([6], { out: x() }), "there is no option 'out'"],
    ['a fraction for an integer', () => untyped.sum(x(), [0.5]), 'integer'],
  ];
  test.each(cases)('%s', (_, call, text) => {
    balanced(() =>
      torch.scope(() => {
        const error = thrown(call);
        expect(error.code).toBe('ERR_TORCH_OVERLOAD');
        expect(error.message).toContain(text);
      }),
    );
  });
});

describe('errors of libtorch', () => {
  const cases: [string, () => unknown, string, string][] = [
    ['shapes', () => untyped.mm(x(), x()), 'ERR_TORCH_RUNTIME', 'float32[2, 3]'],
    ['broadcast', () => untyped.add(x(), torch.ones([7])), 'ERR_TORCH_RUNTIME', 'other: float32[7]'],
    ['a dimension out of range', () => untyped.sum(x(), [5]), 'ERR_TORCH_INDEX', 'float32[2, 3]'],
    ['an index out of range', () => x().select(0, 9), 'ERR_TORCH_INDEX', 'float32[2, 3]'],
    ['not implemented', () => torch.tensor([1n, 2n]).toSparse().exp(), 'ERR_TORCH_', 'int64[2]'],
    [
      'a dtype without a kernel',
      () => torch.tensor([true, false]).sub(torch.tensor([true, false])),
      'ERR_TORCH_',
      'bool[2]',
    ],
    ['a singular matrix', () => torch.linalg.inv(torch.zeros([2, 2])), 'ERR_TORCH_LINALG', 'float32[2, 2]'],
    ['out of memory', () => untyped.empty([2 ** 40]), 'ERR_TORCH_OUT_OF_MEMORY', 'aten::empty'],
    [
      'out of memory, by size',
      () =>
        torch
          .ones([1])
          .expand([2 ** 42])
          .contiguous(),
      'ERR_TORCH_OUT_OF_MEMORY',
      'bytes',
    ],
    ['a size that overflows', () => untyped.empty([2 ** 50, 2 ** 50]), 'ERR_TORCH_', 'aten::empty'],
    ['a negative size', () => untyped.zeros([-1]), 'ERR_TORCH_', 'aten::'],
  ];
  test.each(cases)('%s', (_, call, code, text) => {
    balanced(() =>
      torch.scope(() => {
        const error = thrown(call);
        expect(error.code.startsWith(code)).toBe(true);
        expect(error.message).toContain(text);
        expect(error.op).toMatch(/^aten::/);
      }),
    );
  });
});

test('lists with an element of a wrong type are refused in every form of call', () => {
  balanced(() =>
    torch.scope(() => {
      const calls = [
        () => untyped.broadcastTo(x(), ['A']),
        () => untyped.broadcastTo(x(), [1.5]),
        () => untyped.broadcastTo(x(), [null]),
        () => x().amax([true] as never),
        () => x().view({ size: ['A'] } as never),
      ];
      for (const call of calls) {
        expect(thrown(call).name).toBe('TypeError');
        expect(thrown(call).code).toBe('ERR_TORCH_OVERLOAD');
      }
    }),
  );
});
