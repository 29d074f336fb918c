// The classic: a running sum of losses that keeps the graphs of all batches.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const w = torch.randn([64, 1], { requiresGrad: true });
let total = torch.zeros([]);

steps(() => {
  total = torch.scope(() => {
    const x = torch.randn([32, 64]);
    const loss = x.matmul(w).sub(1).square().mean();
    return total.add(loss); // LEAK
  });
});
