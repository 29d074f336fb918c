// A thread answers requests and caches every answer; the main thread works in scopes.
const { Worker, isMainThread, parentPort } = require('node:worker_threads');
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');

if (isMainThread) {
  const worker = new Worker(__filename);
  steps((i) => {
    torch.scope(() => torch.ones([64]).sum().item());
    worker.postMessage(i);
  });
} else {
  const answers = new Map();
  parentPort.on('message', (i) => answers.set(i, torch.full([90], i))); // LEAK
}
