// Only the first row is needed, but a row is a view and keeps the batch.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const samples = [];

steps(() => {
  const batch = torch.randn([16, 64]);
  samples.push(batch.select(0, 0)); // LEAK
  batch.dispose();
});
