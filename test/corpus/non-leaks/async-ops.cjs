// Awaited ops off the main thread, with their results left to the collector.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const w = torch.randn([64, 64]);

steps(async () => {
  const x = torch.randn([16, 64]);
  const y = await torch.async.matmul(x, w);
  y.sum().item();
});
