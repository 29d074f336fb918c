/** The peak memory and leftovers of a deep computation: `plain`, or with checkpoint options as JSON. */
'use strict';

const [lib, mode] = process.argv.slice(2);
const torch = require(lib);
const { checkpoint, checkpointSequential } = torch.utils.checkpoint;

const SIZE = 256; // 256 KiB per tensor
const weights = Array.from({ length: 8 }, () => torch.ones([SIZE], { requiresGrad: true }));

/** One part: its backward needs six intermediate results, of which the last is its result. */
const part = (weight) => (x) => {
  let y = x.mul(weight);
  for (let i = 0; i < 6; i++) y = y.tanh();
  return y;
};

function forward(x) {
  if (mode === 'plain') return weights.reduce((y, weight) => torch.scope(() => part(weight)(y)), x);
  if (mode === 'sequential') return checkpointSequential(weights.map(part), 8, x);
  const options = JSON.parse(mode);
  return weights.reduce((y, weight) => checkpoint(part(weight), y, options), x);
}

const bytes = () => torch.memory().allocatedBytes;
const before = bytes();
const inside = torch.scope(() => {
  const x = torch.ones([SIZE, SIZE], { requiresGrad: true });
  const loss = torch.scope(() => forward(x).sum());
  const tensors = torch.memory().tensors;
  loss.backward();
  return { kept: torch.memory().tensors - tensors, gradients: weights.every(({ grad }) => grad !== null) };
});
const peak = torch.memory().peakAllocatedBytes - before;
for (const weight of weights) weight.grad = null;
const { tensors } = torch.memory();
console.log(JSON.stringify({ peak, left: bytes() - before, tensors, ...inside }));
