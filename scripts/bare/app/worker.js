const assert = require('node:assert/strict');
const { isMainThread, parentPort, Worker } = require('node:worker_threads');
const torch = require('libtorch-node');

if (isMainThread) {
  const worker = new Worker(__filename);
  worker.on('message', (sum) => assert.equal(sum, 2500));
  worker.on('exit', (code) => {
    assert.equal(code, 0);
    assert.equal(torch.ones([2, 3]).sum().item(), 6);
    console.log('worker: ok');
  });
} else {
  parentPort.postMessage(torch.ones([50, 50]).matmul(torch.eye(50)).sum().item());
}
