// Samples are collected into batches of 40, each used and dropped.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
let samples = [];

steps(() => {
  samples.push(torch.randn([128]));
  if (samples.length < 40) return;
  torch.scope(() => torch.stack(samples).mean().item());
  torch.disposeAll(samples);
  samples = [];
});
