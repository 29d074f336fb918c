// The average that is shown is replaced at each step, and leads to the same graph as the sum: the sum carries it.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const w = torch.randn([32, 1], { requiresGrad: true });
const shown = {};
let total = torch.zeros([]);

steps((i) => {
  const loss = torch.randn([16, 32]).matmul(w).square().mean();
  total = total.add(loss); // LEAK
  shown.average = total.div(i + 1);
});
