/** Calls of every kind, in JavaScript and in Python, over a few tensors. */
import { release } from './release';

/** Tensors that both sides have: by name in the calls. */
export const inputs: Record<string, [string, string]> = {
  f: ['torch.tensor([[1.5, -2, 3], [4, 5, -6]])', 'torch.tensor([[1.5, -2., 3.], [4., 5., -6.]])'],
  d: [
    'torch.tensor([[0.5, 2, 3], [4, 1, 6]], { dtype: "float64" })',
    'torch.tensor([[.5, 2., 3.], [4., 1., 6.]], dtype=torch.float64)',
  ],
  i: ['torch.tensor([[1n, 2n, 3n], [4n, 5n, 6n]])', 'torch.tensor([[1, 2, 3], [4, 5, 6]])'],
  s: [
    'torch.tensor([[1n, 2n, 3n], [4n, 5n, 6n]], { dtype: "int16" })',
    'torch.tensor([[1, 2, 3], [4, 5, 6]], dtype=torch.int16)',
  ],
  u: ['torch.tensor(new Uint8Array([1, 2, 250]))', 'torch.tensor([1, 2, 250], dtype=torch.uint8)'],
  b: [
    'torch.tensor([[true, false, true], [false, false, true]])',
    'torch.tensor([[True, False, True], [False, False, True]])',
  ],
  h: ['torch.tensor([1, 2.5, -3]).to("float16")', 'torch.tensor([1, 2.5, -3]).half()'],
  c: [
    'torch.tensor([1, 2, 3]).to("complex64").mul(new torch.Complex(1, -2))',
    'torch.tensor([1., 2., 3.]).to(torch.complex64) * (1-2j)',
  ],
  m: ['torch.tensor([[4, 1], [2, 3]])', 'torch.tensor([[4., 1.], [2., 3.]])'],
  z: ['torch.tensor(2.5)', 'torch.tensor(2.5)'],
  zi: ['torch.tensor(2n)', 'torch.tensor(2)'],
  img: [
    'torch.arange(32, { dtype: "float32" }).view([1, 2, 4, 4])',
    'torch.arange(32, dtype=torch.float32).view(1, 2, 4, 4)',
  ],
  k: [
    'torch.arange(18, { dtype: "float32" }).view([1, 2, 3, 3]).div(10)',
    'torch.arange(18, dtype=torch.float32).view(1, 2, 3, 3) / 10',
  ],
  idx: ['torch.tensor([0n, 2n])', 'torch.tensor([0, 2])'],
};

const unary =
  'abs neg exp log sqrt sin cos tan tanh sigmoid relu floor ceil round trunc frac sign erf log1p expm1 square reciprocal rsqrt isnan isinf logical_not asinh'.split(
    ' ',
  );
const binary =
  'add sub mul div eq ne lt le gt ge maximum minimum pow atan2 fmod remainder floor_divide logical_and true_divide'.split(
    ' ',
  );
const camel = (name: string) => name.replace(/(?<=[^_])_+([^_])/g, (_, next: string) => next.toUpperCase());

/** JavaScript and Python, both as expressions over the inputs. */
export const calls: [string, string][] = [
  ...unary.flatMap((name) =>
    ['f', 'i', 'b', 'c'].map((x): [string, string] => [`${x}.${camel(name)}()`, `torch.${name}(${x})`]),
  ),
  // Promotion: tensor with tensor, with numbers of each kind, with zero-dimensional tensors.
  ...binary.flatMap((name) =>
    [
      ['f', 'd'],
      ['f', 'i'],
      ['i', 's'],
      ['i', 'b'],
      ['s', 'b'],
      ['b', 'f'],
      ['f', 'z'],
      ['i', 'z'],
      ['s', 'zi'],
      ['u', 'zi'],
      ['h', 'z'],
    ].map(([x, y]): [string, string] => [`torch.${camel(name)}(${x}, ${y})`, `torch.${name}(${x}, ${y})`]),
  ),
  ...['add', 'sub', 'mul', 'div', 'pow', 'remainder', 'eq', 'lt'].flatMap((name) =>
    ['f', 'i', 's', 'u', 'h', 'c'].flatMap((x) =>
      ['2', '2.5', '-1'].map((n): [string, string] => [`${x}.${name}(${n})`, `${x}.${name}(${n})`]),
    ),
  ),
  ...[
    'sum',
    'mean',
    'prod',
    'max',
    'min',
    'argmax',
    'std',
    'var',
    'norm',
    'any',
    'all',
    'median',
    'cumsum(1)',
    'logsumexp(1)',
    'softmax(1)',
    'logSoftmax(1)',
  ].flatMap((call) =>
    ['f', 'i', 'b'].map((x): [string, string] => {
      const text = call.includes('(') ? call : `${call}()`;
      return [`${x}.${text}`, `${x}.${text.replace('logSoftmax', 'log_softmax')}`];
    }),
  ),
  ...([
    ['f.sum([1], true)', 'f.sum([1], True)'],
    ['f.sum({ dim: [0], dtype: "float64" })', 'f.sum(dim=[0], dtype=torch.float64)'],
    ['f.max(1)', 'f.max(1)'],
    ['f.sort({ dim: 1, descending: true })', 'f.sort(dim=1, descending=True)'],
    ['f.topk(2)', 'f.topk(2)'],
    ['f.median(1)', 'f.median(1)'],
    ['m.matmul(m)', 'm.matmul(m)'],
    ['m.mm(m)', 'm.mm(m)'],
    ['torch.addmm(m, m, m, { beta: 0.5, alpha: 2 })', 'torch.addmm(m, m, m, beta=.5, alpha=2)'],
    ['torch.linalg.inv(m)', 'torch.linalg.inv(m)'],
    ['torch.linalg.det(m)', 'torch.linalg.det(m)'],
    ['torch.linalg.solve(m, m)', 'torch.linalg.solve(m, m)'],
    ['torch.linalg.norm(m)', 'torch.linalg.norm(m)'],
    ['torch.linalg.eigvals(m)', 'torch.linalg.eigvals(m)'],
    ['torch.linalg.cholesky(m.mm(m.t()))', 'torch.linalg.cholesky(m @ m.t())'],
    ['torch.einsum("ij,jk->ik", [m, m])', 'torch.einsum("ij,jk->ik", m, m)'],
    ['torch.kron(m, m)', 'torch.kron(m, m)'],
    ['torch.outer(u, u)', 'torch.outer(u, u)'],
    ['torch.fft.fft(f)', 'torch.fft.fft(f)'],
    ['torch.fft.rfft(f, { norm: "ortho" })', 'torch.fft.rfft(f, norm="ortho")'],
    ['torch.special.expit(f)', 'torch.special.expit(f)'],
    ['torch.conv2d(img, k)', 'torch.conv2d(img, k)'],
    ['torch.conv2d(img, k, { stride: 2, padding: 1 })', 'torch.conv2d(img, k, stride=2, padding=1)'],
    ['torch.nn.functional.avgPool2d(img, 2)', 'F.avg_pool2d(img, 2)'],
    ['torch.maxPool2d(img, [2, 2])', 'torch.max_pool2d(img, [2, 2])'],
    ['torch.nn.functional.gelu(f)', 'F.gelu(f)'],
    ['torch.nn.functional.mseLoss(f, d)', 'F.mse_loss(f, d)'],
    ['torch.nn.functional.elu(f, 0.5)', 'F.elu(f, 0.5)'],
    ['f.clamp(-1, 2)', 'f.clamp(-1, 2)'],
    ['f.clamp({ max: 2 })', 'f.clamp(max=2)'],
    ['i.clamp({ min: 2 })', 'i.clamp(min=2)'],
    ['f.to("int64")', 'f.to(torch.int64)'],
    ['f.to("bool")', 'f.to(torch.bool)'],
    ['i.to("float16")', 'i.half()'],
    ['f.to("bfloat16")', 'f.bfloat16()'],
    ['torch.cat([f, f], 1)', 'torch.cat([f, f], 1)'],
    ['torch.cat([f, i])', 'torch.cat([f, i])'],
    ['torch.stack([f, d])', 'torch.stack([f, d])'],
    ['torch.where(b, f, d)', 'torch.where(b, f, d)'],
    ['f.maskedFill(b, 0)', 'f.masked_fill(b, 0)'],
    ['f.indexSelect(1, idx)', 'f.index_select(1, idx)'],
    ['f.gather(1, idx.unsqueeze(0))', 'f.gather(1, idx.unsqueeze(0))'],
    ['f.t()', 'f.t()'],
    ['f.transpose(0, 1)', 'f.transpose(0, 1)'],
    ['f.flip([0])', 'f.flip([0])'],
    ['f.roll(1, 1)', 'f.roll(1, 1)'],
    ['f.repeat([2, 1])', 'f.repeat([2, 1])'],
    ['f.narrow(1, 1, 2)', 'f.narrow(1, 1, 2)'],
    ['f.chunk(2, 1)', 'f.chunk(2, 1)'],
    ['f.split([1, 2], 1)', 'f.split([1, 2], 1)'],
    ['f.unbind(1)', 'f.unbind(1)'],
    ['f.at(1)', 'f[1]'],
    ['f.at("...", 1)', 'f[..., 1]'],
    ['f.at(null, torch.slice(0, 1))', 'f[None, 0:1]'],
    ['f.at(b)', 'f[b]'],
    ['f.at(0, idx)', 'f[0, idx]'],
    ['f.at(torch.slice(null, null, 2), torch.slice(1))', 'f[::2, 1:]'],
    ['f.at(true)', 'f[True]'],
    ['i.at(-1, -1)', 'i[-1, -1]'],
    ['torch.zeros([2, 2])', 'torch.zeros(2, 2)'],
    ['torch.arange(5)', 'torch.arange(5)'],
    ['torch.arange(0, 1, 0.25)', 'torch.arange(0, 1, 0.25)'],
    ['torch.linspace(0, 1, 5)', 'torch.linspace(0, 1, 5)'],
    ['torch.eye(3)', 'torch.eye(3)'],
    ['torch.full([2], 7.5)', 'torch.full([2], 7.5)'],
    ['torch.full([2], true)', 'torch.full([2], True)'],
    ['torch.full([2], 7n)', 'torch.full([2], 7)'],
    ['torch.logspace(0, 2, 3)', 'torch.logspace(0, 2, 3)'],
    ['torch.zerosLike(i)', 'torch.zeros_like(i)'],
    ['i.newFull([2], 3)', 'i.new_full([2], 3)'],
    ['torch.tril(f)', 'torch.tril(f)'],
    ['torch.diag(m)', 'torch.diag(m)'],
    ['torch.bincount(u)', 'torch.bincount(u)'],
    ['f.histc(4)', 'f.histc(4)'],
    ['torch.cumsum(f, 0)', 'torch.cumsum(f, 0)'],
    ['u.add(10)', 'u.add(10)'],
    ['u.div(2, { roundingMode: "floor" })', 'u.div(2, rounding_mode="floor")'],
    ['b.sum()', 'b.sum()'],
    ['b.logicalNot()', 'b.logical_not()'],
    ['i.bitwiseAnd(3)', 'i.bitwise_and(3)'],
    ['i.__lshift__(1)', 'i.__lshift__(1)'],
    ['f.toSparse()', 'f.to_sparse()'],
    ['c.conj()', 'c.conj()'],
    ['c.angle()', 'c.angle()'],
    ['torch.lerp(f, d.to("float32"), 0.5)', 'torch.lerp(f, d.float(), 0.5)'],
    ['f.allclose(f)', 'f.allclose(f)'],
    ['f.equal(i)', 'f.equal(i)'],
    ['torch.ones([2], { dtype: "int32" }).sum()', 'torch.ones(2, dtype=torch.int32).sum()'],
    ['torch.promoteTypes("int16", "float16")', 'str(torch.promote_types(torch.int16, torch.float16))[6:]'],
    // Of newer libtorchs; errors on both sides where they are missing.
    ['torch.tensor(new Uint16Array([1, 65535]))', 'torch.tensor([1, 65535], dtype=torch.uint16)'],
    ['torch.tensor(new Uint32Array([1, 2 ** 32 - 1]))', 'torch.tensor([1, 2 ** 32 - 1], dtype=torch.uint32)'],
    ['torch.tensor(new BigUint64Array([1n, 2n ** 53n - 1n]))', 'torch.tensor([1, 2 ** 53 - 1], dtype=torch.uint64)'],
    ...['float8_e5m2', 'float8_e4m3fn', 'float8_e5m2fnuz', 'float8_e4m3fnuz', 'float8_e8m0fnu'].map(
      (dtype): [string, string] => [`f.to("${dtype}")`, `f.to(torch.${dtype})`],
    ),
    // Errors on both sides.
    ['f.mm(f)', 'f.mm(f)'],
    ['f.add(img)', 'f.add(img)'],
    ['f.view([7])', 'f.view(7)'],
    ['i.mean()', 'i.mean()'],
    ['f.sum([9])', 'f.sum([9])'],
    ['torch.linalg.inv(f)', 'torch.linalg.inv(f)'],
    ['b.sub(b)', 'b.sub(b)'],
  ] as [string, string][]),
];

/** Calls that PyTorch refuses too, in every release. */
const refusedAlways = [
  'b.abs()',
  'b.neg()',
  'b.relu()',
  'c.relu()',
  'b.floor()',
  'c.floor()',
  'b.ceil()',
  'c.ceil()',
  'b.round()',
  'c.round()',
  'b.trunc()',
  'c.trunc()',
  'i.frac()',
  'b.frac()',
  'c.frac()',
  'c.sign()',
  'c.erf()',
  'torch.sub(i, b)',
  'torch.sub(s, b)',
  'torch.sub(b, f)',
  'torch.fmod(i, b)',
  'torch.fmod(s, b)',
  'torch.remainder(i, b)',
  'torch.remainder(s, b)',
  'torch.floorDivide(i, b)',
  'torch.floorDivide(s, b)',
  'i.pow(-1)',
  's.pow(-1)',
  'u.pow(-1)',
  'c.remainder(2)',
  'c.remainder(2.5)',
  'c.remainder(-1)',
  'c.lt(2)',
  'c.lt(2.5)',
  'c.lt(-1)',
  'i.mean()',
  'b.mean()',
  'b.argmax()',
  'i.std()',
  'b.std()',
  'i.var()',
  'b.var()',
  'i.norm()',
  'b.norm()',
  'b.median()',
  'i.softmax(1)',
  'b.softmax(1)',
  'i.logSoftmax(1)',
  'b.logSoftmax(1)',
  'f.mm(f)',
  'f.add(img)',
  'f.view([7])',
  'f.sum([9])',
  'torch.linalg.inv(f)',
  'b.sub(b)',
];

/** Calls that only older releases refuse: the first release that accepts them, by call. */
const acceptedSince: Record<string, string> = {
  'c.log1p()': '2.6',
  'c.expm1()': '2.6',
  'torch.atan2(h, z)': '2.6',
  'torch.tensor(new Uint16Array([1, 65535]))': '2.6',
  'torch.tensor(new Uint32Array([1, 2 ** 32 - 1]))': '2.6',
  'torch.tensor(new BigUint64Array([1n, 2n ** 53n - 1n]))': '2.6',
  'f.to("float8_e5m2")': '2.6',
  'f.to("float8_e4m3fn")': '2.6',
  'f.to("float8_e5m2fnuz")': '2.6',
  'f.to("float8_e4m3fnuz")': '2.6',
  'f.to("float8_e8m0fnu")': '2.7',
};

/** Further calls without a gradient: the op, or the result's dtype, has none. */
const withoutGradient = [
  'torch.atan2(b, f)',
  'torch.floorDivide(f, d)',
  'torch.floorDivide(f, i)',
  'torch.floorDivide(b, f)',
  'torch.floorDivide(f, z)',
  'torch.floorDivide(i, z)',
  'torch.floorDivide(h, z)',
  'f.toSparse()',
];

const isBefore = (one: string, other: string) => one.localeCompare(other, undefined, { numeric: true }) < 0;
const refusedBefore = (since: Record<string, string>) =>
  Object.keys(since).filter((js) => isBefore(release, since[js]!));

/** The calls (JavaScript) that fail on both sides with this libtorch. */
export const refused: readonly string[] = [...refusedAlways, ...refusedBefore(acceptedSince)];
/** The calls whose gradients fail on both sides. */
export const refusedGradients: readonly string[] = [
  ...refused,
  ...withoutGradient,
  ...refusedBefore({ 'torch.pow(h, z)': '2.6', 'torch.nn.functional.mseLoss(f, d)': '2.14' }),
];
