// A checkpoint every few steps; the last five are kept.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const w = torch.randn([64, 32]);
const checkpoints = [];

steps((i) => {
  torch.scope(() => {
    w.add_(torch.randn([64, 32]), { alpha: 0.01 });
  });
  if (i % 4 !== 0) return;
  checkpoints.push(w.clone());
  if (checkpoints.length > 5) checkpoints.shift().dispose();
});
