// A running mean, detached from the graphs of its inputs.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const w = torch.randn([64, 1], { requiresGrad: true });
let mean = torch.zeros([]);

steps(() => {
  mean = torch.scope(() => {
    const loss = torch.randn([32, 64]).matmul(w).square().mean();
    return mean.mul(0.9).add(loss.detach(), { alpha: 0.1 });
  });
});
