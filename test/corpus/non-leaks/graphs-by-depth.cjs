// Each request builds a graph of another depth, and drops it.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const w = torch.randn([16, 16], { requiresGrad: true });

steps((i) => {
  let x = torch.randn([4, 16]);
  for (let depth = 0; depth < 3 + ((i * 7) % 19); depth++) x = x.matmul(w).tanh();
  x.sum().item();
});
