// The same in a worker thread, whose main thread only waits.
const torch = require('libtorch-node');
const { Worker, isMainThread, parentPort } = require('node:worker_threads');

if (isMainThread) {
  new Worker(__filename).on('message', () => process.exit(0));
} else {
  const steps = require('../steps.cjs');
  const w = torch.randn([64, 1], { requiresGrad: true });
  let sum = torch.zeros([]);
  steps((i) => {
    const loss = torch.scope(() => torch.randn([32, 64]).matmul(w).square().mean());
    sum = sum.add(loss); // LEAK
    if (i === 219) parentPort.postMessage('done');
  });
}
