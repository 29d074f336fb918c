// A copy of the weights every few steps, "to go back", which is never dropped.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const w = torch.randn([64, 32]);
const checkpoints = [];

steps((i) => {
  torch.scope(() => {
    w.add_(torch.randn([64, 32]), { alpha: 0.01 });
  });
  if (i % 4 === 0) checkpoints.push(w.clone()); // LEAK
});
