// Loads its model and waits.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const model = Array.from({ length: 6 }, () => torch.randn([128, 128]));

steps((i) => {
  if (i % 50 === 0) torch.scope(() => model[0].matmul(model[1]).sum().item());
});
