// Buffers are made while the service warms up, then used again and again.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const buffers = [];

steps((i) => {
  if (buffers.length < 40) buffers.push(torch.zeros([512]));
  torch.scope(() => buffers[i % buffers.length].add(1).sum().item());
});
