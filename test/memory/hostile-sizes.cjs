/**
 * Calls whose sizes no machine has, or that make kernels, LAPACK, oneDNN, autograd or a model take much memory of their own:
 * hostile-sizes.cjs LIB LIMIT KINDS, where LIMIT is the bytes for torch.setMemoryLimit, or 'none', and KINDS some of now,run.
 * Prints a line for each.
 */
'use strict';

const fs = require('node:fs');
const path = require('node:path');

const [lib, limit, kinds] = process.argv.slice(2);
const torch = require(path.join(lib, 'index.js'));
const { collectAll } = require(path.join(lib, 'memory/collector.js'));

const F = torch.nn.functional;
const int = { dtype: 'int64' };
const column = () => torch.ones([2 ** 17, 1]);
const CALLS = {
  'an output': () => torch.zeros([2 ** 40]),
  broadcasting: () => column().add(torch.ones([2 ** 17])),
  'outer product': () => torch.outer(torch.ones([2 ** 17]), torch.ones([2 ** 17])),
  'clone of a view': () =>
    torch
      .ones([1])
      .expand([2 ** 36])
      .clone(),
  distances: () => torch.cdist(column(), column()),
  pdist: () => torch.pdist(torch.ones([2 ** 17, 2])),
  'convolution by oneDNN': () =>
    F.conv2d(torch.ones([1, 64, 512, 512]), torch.ones([64, 64, 31, 31]), null, { padding: 15 }),
  'columns of a convolution': () => {
    const double = { dtype: 'float64' };
    F.conv2d(torch.ones([1, 16, 256, 256], double), torch.ones([16, 16, 31, 31], double), null, { padding: 15 });
  },
  'transposed convolution': () =>
    F.convTranspose2d(torch.ones([1, 8, 256, 256]), torch.ones([8, 64, 31, 31]), null, { stride: 8 }),
  unfold: () => F.unfold(torch.ones([1, 16, 512, 512]), [31, 31]),
  'workspace of LAPACK': () => torch.linalg.svd(torch.ones([6000, 6000])),
  'product by OpenBLAS': () => torch.ones([6000, 1]).matmul(torch.ones([1, 2 ** 17])),
  'batch of views': () =>
    torch
      .ones([1, 1, 1])
      .expand([2 ** 20, 64, 64])
      .bmm(torch.ones([1, 64, 64]).expand([2 ** 20, 64, 64])),
  histogram: () => torch.histc(torch.ones([4]), 2 ** 33),
  bincount: () => torch.bincount(torch.tensor([2 ** 40], int)),
  'one-hot': () => F.oneHot(torch.tensor([0], int), 2 ** 40),
  histogramdd: () => torch.histogramdd(torch.ones([4, 4]), [1000, 1000, 1000, 1000]),
  repeat: () => torch.ones([4]).repeat([2 ** 34]),
  'repeated elements': () => torch.ones([2]).repeatInterleave(2 ** 36),
  padding: () => F.pad(torch.ones([2, 2]), [2 ** 30, 2 ** 30]),
  interpolation: () => F.interpolate(torch.ones([1, 1, 4, 4]), { size: [2 ** 18, 2 ** 18] }),
  combinations: () => torch.combinations(torch.arange(3000), 3),
  triangle: () => torch.trilIndices(2 ** 17, 2 ** 17),
  identity: () => torch.eye(2 ** 20),
  Vandermonde: () => torch.vander(torch.ones([2 ** 10]), 2 ** 30),
  kron: () => torch.kron(torch.ones([2 ** 9, 2 ** 9]), torch.ones([2 ** 9, 2 ** 9])),
  einsum: () =>
    torch.einsum(
      'i,j,k->ijk',
      [0, 1, 2].map(() => torch.ones([2 ** 12])),
    ),
  'dense form of a sparse tensor': () =>
    torch.sparseCooTensor(torch.zeros([2, 1], int), torch.ones([1]), [2 ** 20, 2 ** 20]).toDense(),
  'samples of multinomial': () => torch.multinomial(torch.ones([4]), 2 ** 36, { replacement: true }),
  'windows of stft': () => torch.stft(torch.ones([2 ** 22]), 2 ** 12, { hopLength: 1, returnComplex: true }),
  correlations: () => torch.corrcoef(torch.ones([2 ** 16, 2])),
  'gradient of a view': () => {
    const x = torch.ones([1], { requiresGrad: true });
    x.expand([2 ** 34])
      .mul(2)
      .sum()
      .backward();
  },
  'gradient of an embedding': () => {
    const weight = torch.ones([4, 64], { requiresGrad: true });
    F.embedding(torch.zeros([1], int).expand([2 ** 28]), weight)
      .sum()
      .backward();
  },
  module: () => new torch.nn.LSTM(4, 200_000),
  'sizes of random numbers': () => torch.randn([2 ** 20, 2 ** 20]),
};

const peakMB = () => Number(/VmHWM:\s+(\d+) kB/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
const base = peakMB();
torch.setMemoryLimit(limit === 'none' ? null : Number(limit));

/** The same through the pool, where the error comes from another thread. A module is not made there. */
async function throughPool(fn) {
  await torch.run(() => {
    fn();
  });
}

(async () => {
  for (const [name, fn] of Object.entries(CALLS)) {
    for (const kind of kinds.split(',')) {
      if (name === 'module' && kind === 'run') continue;
      let code = 'none';
      try {
        await torch.scope(async () => {
          if (kind === 'now') fn();
          else await throughPool(fn);
        });
      } catch (error) {
        code = error.code ?? String(error);
      }
      collectAll();
      const { tensors, allocatedBytes } = torch.memory();
      console.log(JSON.stringify({ name, kind, code, tensors, allocatedBytes, more: Math.round(peakMB() - base) }));
    }
  }
  process.exit(0);
})();
