// The main thread takes what its thread shares, reads it and disposes it.
const { Worker, isMainThread, parentPort } = require('node:worker_threads');
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
if (isMainThread) {
  const worker = new Worker(__filename);
  worker.on('message', (token) => {
    const result = torch.fromShared(token);
    result.sum().item();
    result.dispose();
  });
  steps((i) => worker.postMessage(i));
} else {
  parentPort.on('message', (i) => {
    torch.scope(() => parentPort.postMessage(torch.full([110], i).share()));
  });
}
