// An exponential average without a graph.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const w = torch.randn([32, 8], { requiresGrad: true });
let average = torch.zeros([16, 8]);

steps(() => {
  const predicted = torch.randn([16, 32]).matmul(w);
  average = torch.noGrad(() => average.mul(0.9).add(predicted.mul(0.1)));
});
