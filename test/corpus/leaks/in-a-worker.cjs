// The main thread does nothing; its worker keeps every result.
const torch = require('libtorch-node');
const { Worker, isMainThread, parentPort } = require('node:worker_threads');

if (isMainThread) {
  const worker = new Worker(__filename);
  worker.on('message', () => process.exit(0));
} else {
  const results = [];
  (async () => {
    for (let i = 0; i < 220; i++) {
      results.push(torch.full([128], i)); // LEAK
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    parentPort.postMessage('done');
  })();
}
