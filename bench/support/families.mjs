/**
 * A program of a thousand lines over every family of ops, for the compiler. Each line is a different op and each block has
 * different sizes, so that the compiler cannot reuse earlier results. test/types runs it and compares types with results.
 */

/** The inputs for the lines of a block; `{n}` is a size. */
const inputs = `
const a@ = torch.zeros([{n}, {m}]);
const row@ = torch.ones([{m}]);
const column@ = torch.ones([{n}, 1]);
const w@ = torch.zeros([{m}, {k}]);
const x@ = torch.zeros([{b}, {n}, {m}]);
const y@ = torch.zeros([{b}, {m}, {k}]);
const d@ = torch.zeros([{n}, {m}], { dtype: 'float64' });
const h@ = torch.ones([{n}, {m}], { dtype: 'int32' });
const i@ = torch.zeros([{n}], { dtype: 'int64' });
const c@ = torch.zeros([{m}, {m}], { dtype: 'complex64' });
const s@ = torch.eye({m});
const signal@ = torch.zeros([{b}, 3, {s}]);
const image@ = torch.zeros([{b}, 3, {s}, {s}]);
`;

/** Expressions by family. */
const families = {
  factories: `
torch.zeros([{n}, {m}])
torch.ones({n}, {m}, {k})
torch.full([{n}], {k})
torch.full([{n}], {k}n)
torch.rand([{b}, {n}], { dtype: 'float64' })
torch.randint({m}, [{n}, {k}])
torch.randperm({n})
torch.eye({n}, {m})
torch.arange({n})
torch.arange({n}, {s})
torch.linspace(0, 1, {n})
torch.zerosLike(h@)
torch.onesLike(a@, { dtype: 'bool' })
a@.newZeros([{k}])
torch.tensor([[{n}, {m}]])
torch.fromTypedArray(new Float64Array({n} * {m}), [{n}, {m}])
`,
  elementwise: `
a@.add(row@)
a@.sub(column@)
torch.mul(row@, column@)
a@.div({k})
a@.pow(2)
h@.add(1)
h@.mul(0.5)
h@.add(d@)
a@.mul(d@).sin()
torch.maximum(a@, row@)
a@.exp().log1p().tanh()
a@.clamp(0, {k})
a@.lerp(row@, 0.5)
a@.addcmul(a@, row@)
torch.where(a@.gt(0), a@, row@)
a@.maskedFill(column@.bool(), {k})
h@.floorDivide({k})
h@.bitwiseAnd(h@)
torch.nn.functional.gelu(a@)
torch.nn.functional.dropout(x@, 0.5)
`,
  comparisons: `
a@.lt(row@)
a@.eq({k})
torch.ne(h@, d@)
a@.isfinite()
a@.gt(0).logicalAnd(column@)
`,
  products: `
a@.matmul(w@)
a@.mm(w@).relu()
x@.matmul(w@)
x@.bmm(y@)
a@.mv(row@)
row@.dot(row@)
torch.outer(row@, row@)
torch.addmm(torch.zeros([{k}]), a@, w@)
torch.baddbmm(torch.zeros([{k}]), x@, y@)
torch.nn.functional.linear(x@, torch.zeros([{k}, {m}]), torch.zeros([{k}]))
torch.nn.functional.embedding(i@, w@)
a@.matmul(a@.T)
`,
  windows: `
torch.conv1d(signal@, torch.zeros([{k}, 3, 3]))
torch.conv1d(signal@, torch.zeros([{k}, 3, 3]), null, 2, 1)
torch.conv2d(image@, torch.zeros([{k}, 3, 3, 3]))
torch.conv2d(image@, torch.zeros([{k}, 3, 5, 3]), { padding: [2, 1], stride: 2 })
torch.conv2d(image@, torch.zeros([3, 1, 3, 3]), { groups: 3, padding: 'same' })
torch.convTranspose2d(image@, torch.zeros([3, {k}, 2, 2]), { stride: 2 })
torch.nn.functional.maxPool2d(image@, 2)
torch.nn.functional.avgPool2d(image@, 3, 2)
torch.nn.functional.maxPool1d(signal@, 2)
torch.nn.functional.adaptiveAvgPool2d(image@, [{n}, 2])
torch.nn.functional.adaptiveMaxPool2d(image@, 1)
torch.nn.functional.lpPool1d(signal@, 2, 2)
`,
  views: `
x@.view([{b}, -1])
x@.reshape(-1, {m})
x@.view(-1)
x@.flatten()
x@.flatten(1)
x@.unsqueeze(-1)
column@.squeeze(1)
column@.squeeze()
x@.permute(2, 0, 1)
x@.transpose(0, -1)
a@.t()
column@.expand({n}, {k})
row@.expand([{b}, {n}, {m}])
a@.repeat([2, {k}])
a@.unflatten(1, [1, -1])
x@.select(1, 0)
x@.narrow(2, 0, 2)
x@.indexSelect(1, i@)
x@.movedim(0, 1).view({n}, {b}, {m})
`,
  reductions: `
x@.sum()
x@.sum(1)
x@.sum([0, 2], true)
h@.sum(0)
x@.mean({ dim: -1, keepdim: true })
h@.prod()
x@.amax([1, 2])
x@.std([0])
x@.argmax(1)
x@.argmin({ dim: 2, keepdim: true })
a@.gt(0).any(1)
x@.logsumexp(2)
a@.norm()
x@.max(1).values
x@.min(2, true).indices
a@.median(0).values
a@.countNonzero()
`,
  along: `
x@.softmax(-1)
x@.logSoftmax(1)
h@.cumsum(0)
x@.flip([0, 2])
x@.sort(1).values
a@.argsort(1)
x@.topk(2).indices
torch.roll(a@, 1, 0)
`,
  joining: `
torch.cat([a@, a@])
torch.cat([a@, column@], 1)
torch.cat([h@, d@], { dim: 0 })
torch.stack([a@, a@, a@])
torch.stack([a@, a@], -1)
x@.split(2, 2)[0]
x@.split([1, {n} - 1 as {n1}], 1)[1]
x@.chunk(2, 2)[0]
a@.unbind()[0]
`,
  indexing: `
x@.at(0)
x@.at(0, -1)
x@.at(torch.slice(0, 1), '...', torch.slice(null, null, 2))
x@.at('...', null, 0)
a@.at(i@)
x@.at(torch.slice(), [0, 1, 0])
`,
  dtypes: `
a@.to('int64')
a@.double()
h@.float()
a@.long().add(h@)
torch.complex(a@, a@)
c@.abs()
torch.real(c@).add(row@)
a@.typeAs(h@)
`,
  algebra: `
torch.linalg.inv(s@)
torch.linalg.eigh(s@).eigenvectors
torch.fft.fftshift(row@)
torch.fft.fftfreq({m})
torch.bincount(i@).sum()
torch.isin(i@, i@)
`,
  losses: `
torch.nn.functional.mseLoss(a@, a@)
torch.nn.functional.mseLoss(a@, row@.expand({n}, {m}), { reduction: 'none' })
torch.nn.functional.crossEntropy(a@, i@)
torch.nn.functional.binaryCrossEntropyWithLogits(a@, a@)
`,
};

/** Functions as in real programs: named sizes, literal sizes, tensors of any kind. */
const functions = `
function layer@<B extends number>(batch: Tensor<'float32', [B, {m}]>): Tensor<'float32', [B, {k}]> {
  return batch.matmul(w@).relu();
}
export const layered@ = layer@(a@).softmax(1);
function loose@(t: Tensor, size: number): Tensor {
  const rows = t.view(size, -1).sub(t.mean()).split(1);
  return torch.cat([torch.stack(rows).flatten(), t.flatten()]);
}
export const loose@Dynamic = loose@(a@, {n}).add(1);
`;

/** Different sizes for each block. */
const sizesOf = (block) => ({
  b: 2 + (block % 3),
  n: 4 + block,
  m: 11 + 2 * block,
  k: 5 + 3 * block,
  s: 20 + 4 * block,
});

const statementsOf = (text) => text.trim().split('\n');

/** @param {number} [lines] the minimum @returns {string} */
export function familiesProgram(lines = 1000) {
  const text = ["import torch, { type Tensor } from 'libtorch-node';"];
  for (let block = 0; text.length < lines; block++) {
    const sizes = sizesOf(block);
    const fill = (template) =>
      template
        .replaceAll('@', `_${block}`)
        .replaceAll('{n1}', String(sizes.n - 1))
        .replace(/\{([bnmks])\}/g, (_, name) => String(sizes[name]));
    text.push('', ...statementsOf(inputs).map(fill));
    for (const [family, expressions] of Object.entries(families)) {
      text.push(`// ${family}`);
      for (const [i, expression] of statementsOf(expressions).entries()) {
        text.push(`export const ${family}${i}_${block} = ${fill(expression)};`);
      }
    }
    text.push(...statementsOf(functions).map(fill));
  }
  return `${text.join('\n')}\n`;
}
