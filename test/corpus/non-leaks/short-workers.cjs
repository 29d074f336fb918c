// A thread per job, one after the other; each frees its tensors at its end.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const { Worker, isMainThread, parentPort } = require('node:worker_threads');

if (isMainThread) {
  const job = () => new Promise((resolve) => new Worker(__filename).on('exit', resolve));
  (async () => {
    await job();
    await job();
    steps(() => torch.scope(() => torch.ones([16]).sum().item()));
  })();
} else {
  const held = Array.from({ length: 50 }, () => torch.randn([64]));
  parentPort.postMessage(held.length);
}
