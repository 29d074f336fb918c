// The last 32 observations.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const ring = new Array(32);

steps((i) => {
  ring[i % 32]?.dispose();
  ring[i % 32] = torch.randn([100]);
});
