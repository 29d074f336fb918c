// Correct training: each step in a scope, gradients dropped.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const w = torch.randn([64, 1], { requiresGrad: true });

steps(() => {
  torch.scope(() => {
    const x = torch.randn([32, 64]);
    const loss = x.matmul(w).sub(1).square().mean();
    loss.backward();
    torch.noGrad(() => w.sub_(w.grad, { alpha: 0.01 }));
    w.grad = null;
  });
});
