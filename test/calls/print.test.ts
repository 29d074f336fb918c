/** toString() against Python's print, for the same tensors. */
import { type PythonTensor, python } from '../support/python';
import { settled, torch, untyped } from '../support/torch';

/** JavaScript and Python. */
const tensors: [string, string][] = [
  ['torch.tensor([1, 2, 3])', 'torch.tensor([1., 2., 3.])'],
  ['torch.tensor([1.5, -2.25, 3])', 'torch.tensor([1.5, -2.25, 3.])'],
  ['torch.tensor([0.1, 100, -3.14159])', 'torch.tensor([.1, 100., -3.14159])'],
  ['torch.tensor([1e-5, 1])', 'torch.tensor([1e-5, 1.])'],
  ['torch.tensor([1e10, 1])', 'torch.tensor([1e10, 1.])'],
  ['torch.tensor([1e-8, 2e-8])', 'torch.tensor([1e-8, 2e-8])'],
  ['torch.tensor([123456, 7])', 'torch.tensor([123456., 7.])'],
  ['torch.tensor([1e9])', 'torch.tensor([1e9])'],
  ['torch.tensor([0, 0])', 'torch.tensor([0., 0.])'],
  ['torch.tensor([-0, 0.5])', 'torch.tensor([-0., .5])'],
  ['torch.tensor([0.00005, 0.5])', 'torch.tensor([.00005, .5])'],
  ['torch.tensor([2.00005, 2.00015])', 'torch.tensor([2.00005, 2.00015])'],
  ['torch.tensor([NaN, 1.5, Infinity, -Infinity])', 'torch.tensor([float("nan"), 1.5, float("inf"), -float("inf")])'],
  ['torch.tensor([NaN, 1])', 'torch.tensor([float("nan"), 1.])'],
  ['torch.tensor([Infinity])', 'torch.tensor([float("inf")])'],
  ['torch.tensor(3)', 'torch.tensor(3.)'],
  ['torch.tensor(3.25)', 'torch.tensor(3.25)'],
  ['torch.tensor(7n)', 'torch.tensor(7)'],
  ['torch.tensor(true)', 'torch.tensor(True)'],
  ['torch.tensor([1n, -20n, 300n])', 'torch.tensor([1, -20, 300])'],
  ['torch.tensor([[1n, -20n], [300n, 4n]])', 'torch.tensor([[1, -20], [300, 4]])'],
  ['torch.tensor([2n ** 62n])', 'torch.tensor([2 ** 62])'],
  ['torch.tensor([true, false])', 'torch.tensor([True, False])'],
  ['torch.tensor([1n, 2n], { dtype: "int32" })', 'torch.tensor([1, 2], dtype=torch.int32)'],
  ['torch.tensor(new Uint8Array([1, 200]))', 'torch.tensor([1, 200], dtype=torch.uint8)'],
  ['torch.tensor([1.5, 2], { dtype: "float64" })', 'torch.tensor([1.5, 2.], dtype=torch.float64)'],
  ['torch.tensor([1.5, 2]).to("float16")', 'torch.tensor([1.5, 2.]).half()'],
  ['torch.tensor([1.3, 2]).to("bfloat16")', 'torch.tensor([1.3, 2.]).bfloat16()'],
  ['torch.tensor([])', 'torch.tensor([])'],
  ['torch.zeros([0, 3])', 'torch.zeros(0, 3)'],
  ['torch.zeros([2, 0], { dtype: "int64" })', 'torch.zeros(2, 0, dtype=torch.int64)'],
  ['torch.zeros([0], { dtype: "bool" })', 'torch.zeros(0, dtype=torch.bool)'],
  [
    'torch.tensor([1, 2]).to("complex64").mul(new torch.Complex(1, -2))',
    'torch.tensor([1., 2.]).to(torch.complex64) * (1-2j)',
  ],
  [
    'torch.tensor([0.5, 2]).to("complex128").mul(new torch.Complex(1, 2.25))',
    'torch.tensor([.5, 2.]).to(torch.complex128) * (1+2.25j)',
  ],
  ['torch.arange(24).view([2, 3, 4])', 'torch.arange(24).view(2, 3, 4)'],
  ['torch.ones([2, 2, 2, 2])', 'torch.ones(2, 2, 2, 2)'],
  ['torch.arange(1000)', 'torch.arange(1000)'],
  ['torch.arange(1001)', 'torch.arange(1001)'],
  ['torch.arange(5000, { dtype: "float32" }).div(7)', 'torch.arange(5000, dtype=torch.float32) / 7'],
  ['torch.zeros([100, 100])', 'torch.zeros(100, 100)'],
  ['torch.arange(60000).view([20, 30, 100])', 'torch.arange(60000).view(20, 30, 100)'],
  ['torch.ones([2, 2000])', 'torch.ones(2, 2000)'],
  ['torch.arange(30, { dtype: "float32" }).mul(1.5)', 'torch.arange(30, dtype=torch.float32) * 1.5'],
  ['torch.arange(40).mul(1000)', 'torch.arange(40) * 1000'],
  ['torch.tensor([1.5], { requiresGrad: true })', 'torch.tensor([1.5], requires_grad=True)'],
  ['torch.ones([2], { requiresGrad: true }).mul(torch.ones([2]))', 'torch.ones(2, requires_grad=True) * torch.ones(2)'],
  ['torch.ones([3, 3], { requiresGrad: true }).sum()', 'torch.ones(3, 3, requires_grad=True).sum()'],
  [
    '((x) => (x.at(0).fill_(2), x))(torch.ones([2], { requiresGrad: true }).mul(1))',
    '(lambda x: (x[0].fill_(2), x)[1])(torch.ones(2, requires_grad=True) * 1)',
  ],
  ['torch.arange(20, { dtype: "float64" }).div(3)', 'torch.arange(20, dtype=torch.float64) / 3'],
  ['torch.ones([2, 3]).t()', 'torch.ones(2, 3).t()'],
  ['torch.empty([2, 3], { device: "meta" })', 'torch.empty(2, 3, device="meta")'],
  ['torch.empty([3], { device: "meta", dtype: "int64" })', 'torch.empty(3, device="meta", dtype=torch.int64)'],
  ['torch.eye(3).toSparse()', 'torch.eye(3).to_sparse()'],
  ['torch.ones([1], { requiresGrad: true }).toSparse()', 'torch.ones(1, requires_grad=True).to_sparse()'],
  ['torch.zeros([2, 3], { dtype: "int32" }).toSparse()', 'torch.zeros(2, 3, dtype=torch.int32).to_sparse()'],
  ['torch.eye(2).toSparseCsr()', 'torch.eye(2).to_sparse_csr()'],
  ['torch.eye(2).double().toSparseCsc()', 'torch.eye(2).double().to_sparse_csc()'],
  ['torch.ones([4, 4]).toSparseBsr([2, 2])', 'torch.ones(4, 4).to_sparse_bsr((2, 2))'],
  ['torch.ones([2]).toMkldnn()', 'torch.ones(2).to_mkldnn()'],
  [
    'torch.quantizePerTensor(torch.tensor([1, 2.5]), 1e-5, 10, "quint8")',
    'torch.quantize_per_tensor(torch.tensor([1, 2.5]), 1e-5, 10, torch.quint8)',
  ],
  [
    'torch.quantizePerChannel(torch.ones([2, 1]), torch.tensor([0.1, 2]), torch.tensor([1n, 2n]), 0, "qint8")',
    'torch.quantize_per_channel(torch.ones(2, 1), torch.tensor([.1, 2]), torch.tensor([1, 2]), 0, torch.qint8)',
  ],
  ['torch._efficientzerotensor([2, 2])', 'torch._efficientzerotensor(2, 2)'],
  ...((untyped.Tensor.prototype.refineNames === undefined
    ? []
    : [
        ['torch.zeros([2], { names: ["N"] })', 'torch.zeros(2, names=("N",))'],
        ['torch.zeros([2000, 1], { names: ["N", null] })', 'torch.zeros(2000, 1, names=("N", None))'],
      ]) as [string, string][]),
  [
    'torch._nestedTensorFromMask(torch.ones([2, 2, 2]), torch.tensor([[true, false], [true, true]]))',
    'torch._nested_tensor_from_mask(torch.ones(2, 2, 2), torch.tensor([[True, False], [True, True]]))',
  ],
  ...((untyped.uint16 === undefined
    ? []
    : [
        ['torch.tensor(new Uint16Array([1, 65535]))', 'torch.tensor([1, 65535], dtype=torch.uint16)'],
        ['torch.tensor(new BigUint64Array([2n ** 53n]))', 'torch.tensor([2 ** 53], dtype=torch.uint64)'],
        ['torch.tensor([1.5, -300]).to("float8_e5m2")', 'torch.tensor([1.5, -300.]).to(torch.float8_e5m2)'],
      ]) as [string, string][]),
];

test('prints as PyTorch prints', async () => {
  // Meta tensors do not have data, so only their text is compared.
  const answers = await python(tensors.map(([, py]) => `str(${py})`));
  const before = settled().tensors;
  const got = tensors.map(([js]) => torch.scope(() => String(new Function('torch', `return ${js}`)(untyped))));
  expect(torch.memory().tensors).toBe(before);
  const wrong = tensors.flatMap(([js], i) => {
    const { value, error } = answers[i]! as { value?: PythonTensor; error?: string };
    return got[i] === (value as unknown) ? [] : [`${js}\n--- got\n${got[i]}\n--- PyTorch\n${value ?? error}`];
  });
  expect(wrong.join('\n\n')).toBe('');
});

/** Options here and there, and what they print. */
const settings: [string, string, string, string][] = [
  ['{ sciMode: true }', 'sci_mode=True', 'torch.tensor([1, -2.5, 0])', 'torch.tensor([1., -2.5, 0])'],
  ['{ sciMode: false }', 'sci_mode=False', 'torch.tensor([1e-5, 0.5])', 'torch.tensor([1e-5, .5])'],
  ['{ sciMode: true }', 'sci_mode=True', 'torch.tensor([0, Infinity])', 'torch.tensor([0., float("inf")])'],
  ['{ profile: "short" }', 'profile="short"', 'torch.arange(2000).div(3)', 'torch.arange(2000) / 3'],
  ['{ profile: "full" }', 'profile="full"', 'torch.arange(1100)', 'torch.arange(1100)'],
  [
    '{ profile: "short", edgeitems: 1, threshold: 2, linewidth: 20 }',
    'profile="short", edgeitems=1, threshold=2, linewidth=20',
    'torch.arange(9).view([3, 3]).div(7)',
    'torch.arange(9).view(3, 3) / 7',
  ],
  ['{ precision: 50 }', 'precision=50', 'torch.tensor([0.1, 1.5])', 'torch.tensor([.1, 1.5])'],
  ['{ precision: 0 }', 'precision=0', 'torch.tensor([0.5, 1.5, 2.25])', 'torch.tensor([.5, 1.5, 2.25])'],
];

test('setPrintOptions behaves as in PyTorch', async () => {
  const [begin, end] = ['torch.set_printoptions(', 'torch.set_printoptions(profile="default")'];
  const answers = await python(settings.map(([, py, , value]) => `(${begin}${py}), str(${value}), ${end})[1]`));
  const wrong = settings.flatMap(([js, , value], i) =>
    torch.scope(() => {
      new Function('torch', `torch.setPrintOptions(${js})`)(torch);
      const got = String(new Function('torch', `return ${value}`)(torch));
      torch.setPrintOptions({ profile: 'default' });
      return got === answers[i]!.value ? [] : [`${js}\n--- got\n${got}\n--- PyTorch\n${answers[i]!.value}`];
    }),
  );
  expect(wrong.join('\n\n')).toBe('');
});

test('setPrintOptions refuses unknown options, and then changes nothing', () => {
  const text = String(torch.tensor([0.5]));
  for (const wrong of [
    { precision: 1, prcision: 2 },
    { precision: -1 },
    { precision: 51 },
    { profile: 'long' },
    { sciMode: 1 },
    null,
  ]) {
    const call = () => torch.setPrintOptions(wrong as never);
    expect(call).toThrow(expect.objectContaining({ code: 'ERR_TORCH_ARGUMENT' }));
  }
  expect(String(torch.tensor([0.5]))).toBe(text);
});

test('console.log shows the same', () => {
  torch.scope(() => {
    const t = torch.tensor([[1, 2.5]]);
    expect(require('node:util').inspect(t)).toBe(String(t));
    expect(`${t}`).toBe('tensor([[1.0000, 2.5000]])');
  });
});
