// Nothing is disposed of; the collector has to do it all.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
steps(() => {
  const x = torch.randn([256]);
  const y = x.mul(2).add(1);
  y.sum().item();
});
