/**
 * Indices that the forward call saved, and that the program changes where no version counter sees it: in the memory of a
 * typed array, and by setData. Prints how each backward ended; a wrong one ends the process. Usage: node FILE LIB.
 */
'use strict';

const torch = require(process.argv[2]);
const F = torch.nn.functional;

/** Inputs are small, so that most of these numbers are outside of them. */
const numbers = [2n ** 40n, -(2n ** 40n), 2n ** 63n - 1n, -1n, 100_000n];

const leaf = (...shape) => torch.ones(shape, { requiresGrad: true });
const shared = (values, shape = [values.length]) => {
  const memory = BigInt64Array.from(values, BigInt);
  return [torch.fromTypedArray(memory, shape), memory];
};

/** Each gives a result and the memory of its indices. */
const calls = {
  embedding: () => {
    const [indices, memory] = shared([0, 1, 2]);
    return [F.embedding(indices, leaf(5, 3), { scaleGradByFreq: true }), memory];
  },
  nllLoss: () => {
    const [target, memory] = shared([0, 1, 2]);
    return [F.nllLoss(leaf(3, 5).logSoftmax(1), target, { reduction: 'none' }), memory];
  },
  nllLoss2d: () => {
    const [target, memory] = shared([0, 1, 2], [1, 3, 1]);
    return [F.nllLoss(leaf(1, 5, 3, 1).logSoftmax(1), target, { reduction: 'none' }), memory];
  },
  ctcLoss: () => {
    const [targets, memory] = shared([1, 2, 3], [1, 3]);
    return [F.ctcLoss(leaf(6, 1, 5).logSoftmax(2), targets, [6], [3]), memory];
  },
  'embeddingBag, sum': () => {
    const [indices, memory] = shared([0, 1, 2]);
    return [torch.embeddingBag(leaf(5, 3), indices, torch.tensor([0, 1], { dtype: 'int64' }))[0], memory];
  },
  'embeddingBag, weights': () => {
    const [indices, memory] = shared([0, 1, 2]);
    const offsets = torch.tensor([0, 1], { dtype: 'int64' });
    return [torch.embeddingBag(leaf(5, 3), indices, offsets, { mode: 0, perSampleWeights: leaf(3) })[0], memory];
  },
  segmentReduce: () => {
    const [lengths, memory] = shared([1, 2, 3]);
    return [torch.segmentReduce(leaf(6), 'sum', { lengths, unsafe: true }), memory];
  },
};

/** Pools, whose indices are results. */
const pools = {
  maxPool2d: () => F.maxPool2d(leaf(1, 1, 6, 6), 2, { returnIndices: true }),
  maxPool3d: () => F.maxPool3d(leaf(1, 1, 6, 6, 6), 2, { returnIndices: true }),
  adaptiveMaxPool2d: () => leaf(1, 1, 6, 6).adaptiveMaxPool2d([2, 2]),
  adaptiveMaxPool3d: () => leaf(1, 1, 6, 6, 6).adaptiveMaxPool3d([2, 2, 2]),
  fractionalMaxPool2d: () => leaf(1, 1, 6, 6).fractionalMaxPool2d([2, 2], [3, 3], torch.rand([1, 1, 2])),
};

const ends = {};
const end = (name, run) => {
  try {
    torch.scope(run);
    ends[name] = 'gradients';
  } catch (error) {
    ends[name] = `${error.code} ${error.message}`;
  }
};

for (const number of numbers) {
  for (const [name, call] of Object.entries(calls)) {
    end(`${name}: ${number}`, () => {
      const [result, memory] = call();
      memory.fill(number);
      result.sum().backward();
    });
  }
  for (const [name, pool] of Object.entries(pools)) {
    end(`${name}: ${number}`, () => {
      const [result, indices] = pool();
      indices.setData(torch.fromTypedArray(new BigInt64Array(indices.numel).fill(number), indices.shape));
      result.sum().backward();
    });
  }
}
for (const shape of [[0], [1], [100, 100]]) {
  for (const name of ['adaptiveMaxPool2d', 'adaptiveMaxPool3d']) {
    end(`${name}: [${shape}]`, () => {
      const [result, indices] = pools[name]();
      indices.setData(torch.zeros(shape, { dtype: 'int64' }));
      result.sum().backward();
    });
  }
}
// With the right indices all of them have gradients.
for (const [name, call] of Object.entries(calls)) end(`${name}: unchanged`, () => call()[0].sum().backward());
for (const [name, pool] of Object.entries(pools)) end(`${name}: unchanged`, () => pool()[0].sum().backward());
console.log(JSON.stringify({ ends, left: torch.memory().tensors }));
