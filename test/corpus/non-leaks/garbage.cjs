// Tensors are not disposed; the collector frees all of them.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
steps(() => {
  const x = torch.randn([256]);
  const y = x.mul(2).add(1);
  y.sum().item();
});
