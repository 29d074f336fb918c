// Tensors are sent to a thread that has stopped reading its messages.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const { Worker } = require('node:worker_threads');
const worker = new Worker('setInterval(() => {}, 1000)', { eval: true });

steps(() => {
  torch.scope(() => {
    const mask = torch.ones([64]);
    const frame = torch.randn([64, 32]); // LEAK
    mask.sum().item();
    worker.postMessage({ frame: frame.share() });
  });
});
