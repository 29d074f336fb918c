// backward() with createGraph gives gradients a graph; the sum of all of them is never detached.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
let w;

steps(() => {
  w ??= torch.randn([8, 8], { requiresGrad: true }); // LEAK
  const input = torch.randn([8, 32]);
  const penalty = w.matmul(input).sum();
  const loss = penalty.mul(penalty);
  loss.backward({ createGraph: true });
});
