// The main thread takes what its thread shares, and keeps it.
const { Worker, isMainThread, parentPort } = require('node:worker_threads');
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
if (isMainThread) {
  const taken = [];
  const worker = new Worker(__filename);
  worker.on('message', (token) => taken.push(torch.fromShared(token))); // LEAK
  steps((i) => worker.postMessage(i));
} else {
  parentPort.on('message', (i) => {
    torch.scope(() => {
      const result = torch.full([110], i);
      parentPort.postMessage(result.share());
    });
  });
}
