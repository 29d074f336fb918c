// Batches of any size, one at a time.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
let seed = 99;
let batch = torch.zeros([1, 32]);

steps(() => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  const size = 1 + (seed % 200);
  batch.dispose();
  batch = torch.randn([size, 32]);
  torch.scope(() => batch.mean().item());
});
