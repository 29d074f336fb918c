// Losses are kept for a chart, and each keeps its graph.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const w = torch.randn([64, 1], { requiresGrad: true });
const history = [];

steps(() => {
  const loss = torch.scope(() => {
    const x = torch.randn([32, 64]);
    return x.matmul(w).sub(1).square().mean(); // LEAK
  });
  history.push(loss);
});
