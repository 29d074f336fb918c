// Only the first row is wanted, but a row is a view: it keeps the batch.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const samples = [];

steps(() => {
  const batch = torch.randn([16, 64]);
  samples.push(batch.select(0, 0)); // LEAK
  batch.dispose();
});
