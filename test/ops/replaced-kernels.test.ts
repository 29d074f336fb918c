/** Kernels that this library replaces in libtorch (native/ops/replaced_kernels.h). */
import type { Tensor } from '../../types';
import { release } from '../support/release';
import { counts, thrown, torch, untyped } from '../support/torch';

const { aten } = untyped.ops;
/** libtorch 2 has these dtypes in oneDNN's layout, and LSTMs in oneDNN. */
const isNew = release !== '1.13';
const dtypes = ['float32', 'bfloat16', ...(isNew ? ['uint8', 'int8'] : [])];

test.each(dtypes)('zeros of %s in the layout of oneDNN', (dtype) => {
  const before = counts();
  torch.scope(() => {
    const given = torch.ones([3, 129], { dtype: dtype as 'float32' });
    const changed = untyped.ops.aten.zero_.default(given.toMkldnn());
    const made = torch.zeros([3, 129], { layout: '_mkldnn', dtype: dtype as 'float32' } as object);
    const more = changed.newZeros([5, 7]);
    for (const tensor of [changed, made, more]) {
      expect([tensor.layout, tensor.dtype]).toEqual(['_mkldnn', dtype]);
      expect(tensor.toDense().to('float32').abs().sum().item()).toBe(0);
    }
  });
  expect(counts()).toEqual(before);
});

test('a batch norm in the layout of oneDNN takes parameters of float32 alone, one number for each channel', () => {
  torch.scope(() => {
    const input = torch.rand([3, 2, 3, 4]);
    const [weight, bias] = [torch.rand([2]), torch.rand([2])];
    const norm = (one: Tensor, w: Tensor, b: Tensor) =>
      torch.nn.functional.batchNorm(one, null, null, { weight: w, bias: b, training: true });
    const result = norm(input.toMkldnn(), weight, bias);
    expect(torch.allclose(result.toDense(), norm(input, weight, bias), { atol: 1e-5 })).toBe(true);
    for (const [wrong, message] of [
      [
        weight.to('bfloat16'),
        ': expected float32, with a number for each channel of input [3, 2, 3, 4], got bfloat16 [2]',
      ],
      [torch.rand([1]), ' should contain 2 elements not 1'],
      [torch.rand([3]), ' should contain 2 elements not 3'],
    ] as const) {
      expect(thrown(() => norm(input.toMkldnn(), wrong, bias)).message).toContain(`weight${message}`);
      expect(thrown(() => norm(input.toMkldnn(), weight, wrong)).message).toContain(`bias${message}`);
    }
  });
});

test('group norms without elements, which libtorch makes of batch norms for quantized tensors', () => {
  const before = counts();
  torch.scope(() => {
    const input = torch.rand([1, 2, 0, 4]);
    const bias = torch.quantizePerTensor(torch.rand([2]), 0.1, 0, 'quint8');
    const refused = [
      () => aten.native_group_norm.default(input, null, bias, 1, 2, 0, 1, 1e-5),
      () => torch.nn.functional.groupNorm(input, 2, null, bias),
    ].map((call) => thrown(call));
    for (const { code } of refused) expect(code).toBe('ERR_TORCH_RUNTIME');
    // libtorch 2 asks for elements itself, 2.14 before it makes a batch norm of it
    const own = release === '2.6' ? 'input tensor must have at least one element' : 'Expected HxW to be greater than 0';
    expect(refused[0]!.message).toContain(isNew ? own : 'input: expected a batch with elements');
  });
  expect(counts()).toEqual(before);
});

test.each<[string, (self: Tensor, index: Tensor, source: Tensor) => unknown]>([
  ['scatter_.src', (self, index, source) => aten.scatter_.src(self, 0, index, source)],
  ['scatter_.reduce', (self, index, source) => aten.scatter_.reduce(self, 0, index, source, { reduce: 'add' })],
  ['scatter_add_', (self, index, source) => aten.scatter_add_.default(self, 0, index, source)],
  ['scatter_reduce_.two', (self, index, source) => aten.scatter_reduce_.two(self, 0, index, source, 'sum')],
  ['index_add_', (self, index, source) => aten.index_add_.default(self, 0, index, source)],
  ['index_copy_', (self, index, source) => aten.index_copy_.default(self, 0, index, source)],
  ['index_reduce_', (self, index, source) => aten.index_reduce_.default(self, 0, index, source, 'prod')],
])('%s into and from the layout of oneDNN is an error', (name, call) => {
  const before = counts();
  torch.scope(() => {
    const index = torch.zeros([4], { dtype: 'int64' });
    const [dense, other] = [torch.ones([4]), torch.ones([4]).toMkldnn()];
    for (const [self, source] of [
      [dense, other],
      [other, dense],
      [other, torch.ones([4]).toMkldnn()],
    ] as const) {
      const error = thrown(() => call(self, index, source));
      expect([error.code, error.message]).toEqual([
        'ERR_TORCH_NOT_IMPLEMENTED',
        expect.stringContaining(`aten::${name}`),
      ]);
      expect(error.message).toContain('MkldnnCPU');
    }
  });
  expect(counts()).toEqual(before);
});

test('an op that scatters inside is an error in the layout of oneDNN', () => {
  torch.scope(() => {
    const [grad, index] = [torch.ones([65]).toMkldnn(), torch.zeros([65], { dtype: 'int64' })];
    expect(thrown(() => aten.cummaxmin_backward.default(grad, torch.ones([65]), index, 0)).message).toContain(
      'MkldnnCPU',
    );
  });
});

test.each(['median', 'nanmedian'] as const)('the %s along an expanded dimension is that of the value', (name) => {
  torch.scope(() => {
    const numbers = torch.tensor([5, 1, 2, 3, 4, 6, 7]);
    const [values, indices] = numbers.narrow(0, 0, 1).expand([7])[name](0);
    expect(values.item()).toBe(5);
    expect(indices.item()).toBeLessThan(7);
    const rows = torch
      .tensor([[1, 2, 3]])
      .expand([9, 3])
      [name](0);
    expect(rows[0].tolist()).toEqual([1, 2, 3]);
    const columns = torch
      .tensor([[8], [9]])
      .expand([2, 6])
      [name](1, true);
    expect(columns[0].tolist()).toEqual([[8], [9]]);
    expect(numbers[name](0)[0].item()).toBe(4);
  });
});

test('bags of expanded indices and offsets', () => {
  torch.scope(() => {
    const weight = torch.arange(12, { dtype: 'float32' }).view([6, 2]);
    const long = (...values: number[]) => torch.tensor(values, { dtype: 'int64' });
    const indices = long(5, 0, 1).narrow(0, 0, 1).expand([4]);
    for (const bag of [aten._embedding_bag.default, aten._embedding_bag_forward_only.default]) {
      expect(bag(weight, indices, long(0, 3))[0].tolist()).toEqual([
        [30, 33],
        [10, 11],
      ]);
      expect(bag(weight, long(1, 2), long(0).expand([2]))[0].tolist()).toEqual([
        [0, 0],
        [6, 8],
      ]);
    }
  });
});

test('a group norm with an expanded weight and bias, and its gradient', () => {
  torch.scope(() => {
    const input = torch.arange(36, { dtype: 'float32' }).view([2, 6, 3]).requiresGrad_();
    const numbers = torch.tensor([2, 9, 9, 9, 9, 9], { dtype: 'float32' });
    const weight = numbers.narrow(0, 0, 1).expand([6]);
    for (const [w, b] of [
      [weight, numbers],
      [numbers, weight],
      [weight, weight],
    ] as const) {
      const [output, same] = [w, w.contiguous()].map((one) =>
        torch.nn.functional.groupNorm(input, 3, { weight: one, bias: one === w ? b : b.contiguous() }),
      );
      expect(output!.equal(same!)).toBe(true);
      const gradients = [output!, same!].map((result) => torch.autograd.grad([result.pow(2).sum()], [input])[0]!);
      expect(torch.allclose(gradients[0]!, gradients[1]!)).toBe(true);
    }
  });
});

test('a weight norm with expanded sizes, and its gradient', () => {
  torch.scope(() => {
    const v = torch.arange(12, { dtype: 'float32' }).view([4, 3]);
    const grad = v.flip([0]).narrow(0, 0, 1).expand([4, 3]);
    const g = torch.tensor([2, 3, 5, 7], { dtype: 'float32' }).narrow(0, 0, 1).expand([4]);
    const [weights, norms] = aten._weight_norm_interface.default(v, g, 0);
    const rows = aten._weight_norm_interface.default(v.narrow(0, 0, 1).expand([4, 3]), g, 0)[0];
    expect(weights.equal(aten._weight_norm_interface.default(v, g.contiguous(), 0)[0])).toBe(true);
    expect(rows.equal(weights.narrow(0, 0, 1).expand([4, 3]))).toBe(true);
    const back = aten._weight_norm_interface_backward.default;
    const [gradients, same] = [back(grad, v, g, norms, 0), back(grad.contiguous(), v, g.contiguous(), norms, 0)];
    expect(gradients.map((one: Tensor, i: number) => one.equal(same[i]))).toEqual([true, true]);
  });
});

test.each(['float32', 'float64', 'int64', 'complex64'] as const)('products of %s without self', (dtype) => {
  const before = counts();
  torch.scope(() => {
    const of = (...shape: number[]) => torch.randint(1, 9, shape).to(dtype) as Tensor;
    const [a, b] = [of(2, 2, 3), of(2, 3, 2)];
    const expected = torch.bmm(a, b).mul(2).toArray();
    const fill = dtype.startsWith('int') ? 7 : Number.NaN;
    const self = torch.full([2, 1, 2], fill, { dtype });
    const out = torch.full([2, 2, 2], fill, { dtype });
    const options = { beta: 0, alpha: 2 };
    // The memory of a result is often that of a tensor that was freed.
    const freed = () => torch.scope(() => void Array.from({ length: 8 }, () => torch.full([2, 2, 2], fill, { dtype })));
    for (let i = 0; i < 20; i++) {
      freed();
      expect(torch.baddbmm(self, a, b, options).toArray()).toEqual(expected);
    }
    expect(aten.baddbmm.out(self, a, b, { ...options, out }).toArray()).toEqual(expected);
    expect(out.toArray()).toEqual(expected);
    const changed = torch.full([2, 2, 2], fill, { dtype });
    expect(changed.baddbmm_(a, b, options)).toBe(changed);
    expect(changed.toArray()).toEqual(expected);
    expect(torch.baddbmm(torch.onesLike(changed), a, b, { beta: 3, alpha: 2 }).toArray()).toEqual(
      torch.bmm(a, b).mul(2).add(3).toArray(),
    );
    expect(thrown(() => self.baddbmm_(a, b, options)).code).toBe('ERR_TORCH_RUNTIME');
  });
  expect(counts()).toEqual(before);
});

test('the gradients of products without self', () => {
  torch.scope(() => {
    const self = torch.full([1, 2, 2], Number.NaN, { requiresGrad: true });
    const [a, b] = [torch.ones([1, 2, 3], { requiresGrad: true }), torch.ones([1, 3, 2])];
    torch.baddbmm(self, a, b, { beta: 0 }).sum().backward();
    expect(self.grad!.toArray()).toEqual([
      [
        [0, 0],
        [0, 0],
      ],
    ]);
    expect(a.grad!.toArray()).toEqual([
      [
        [2, 2, 2],
        [2, 2, 2],
      ],
    ]);
  });
});

test('a product of sparse tensors with other sparse dimensions is an error', () => {
  torch.scope(() => {
    const dense = torch.ones([2, 2]);
    const [hybrid, sparse] = [dense.toSparse(1), dense.toSparse()];
    for (const [self, other] of [
      [hybrid, sparse],
      [sparse, hybrid],
    ] as const) {
      expect(thrown(() => self.mul(other)).message).toMatch(/expected \d sparse dimensions \(as self\), got \d/);
    }
    expect(sparse.mul(sparse).toDense().tolist()).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect(hybrid.mul(hybrid).toDense().tolist()).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });
});

test('a view is not a leaf after a write with gradients through another view', () => {
  const before = counts();
  torch.scope(() => {
    const views = (): [Tensor, Tensor] => {
      const base = torch.zeros([2, 3]);
      const view = base.t();
      base.set([0], torch.ones([3], { requiresGrad: true }));
      return [base, view];
    };
    const [base, view] = views();
    expect([base.isLeaf, view.isLeaf, view.requiresGrad]).toEqual([false, false, true]);
    expect(aten.is_leaf.default(views()[1])).toBe(false);
    expect(thrown(() => views()[1].share()).code).toBe('ERR_TORCH_SHARED');
    expect([torch.zeros([2]).t().isLeaf, torch.zeros([2], { requiresGrad: true }).isLeaf]).toEqual([true, true]);
    expect(torch.inferenceMode(() => torch.zeros([2]).t()).isLeaf).toBe(true);
  });
  expect(counts()).toEqual(before);
});

test.each(['none', 'tanh'])('gelu (%s) and its gradient reach an out that is not contiguous', (approximate) => {
  const before = counts();
  torch.scope(() => {
    const x = torch.randn([8, 6]);
    const grad = torch.randn([8, 6]);
    const outs = [torch.zeros([6, 8]).t(), torch.zeros([8, 12]).slice(1, 0, 12, 2), torch.zeros([8, 6])];
    for (const out of outs) {
      expect(aten.gelu.out(x, { approximate, out })).toBe(out);
      expect(torch.equal(out, aten.gelu.default(x, { approximate }))).toBe(true);
      aten.gelu_backward.grad_input(grad, x, { approximate, grad_input: out });
      expect(torch.equal(out, aten.gelu_backward.default(grad, x, { approximate }))).toBe(true);
    }
    const strided = torch.zeros([8, 12]).slice(1, 0, 12, 2);
    const wide = strided.asStrided([8, 6], [12, 2], 1) as Tensor;
    aten.gelu.out(x, { approximate, out: wide });
    expect(strided.abs().sum().item()).toBe(0); // the elements between
    for (const wrong of [
      torch.zeros([8, 12], { dtype: 'float64' }).slice(1, 0, 12, 2),
      torch.zeros([8, 1]).expand([8, 6]),
    ]) {
      expect(thrown(() => aten.gelu.out(x, { approximate, out: wrong })).code).toBe('ERR_TORCH_RUNTIME');
    }
    const shifted = torch.zeros([100]);
    const self = shifted.asStrided([8, 6], [6, 1], 0);
    const over = shifted.asStrided([8, 6], [1, 8], 3);
    expect(thrown(() => aten.gelu.out(self, { approximate, out: over })).message).toContain(
      'refer to a single memory location',
    );
  });
  expect(counts()).toEqual(before);
});
