// Frames for another thread, which takes each and confirms; then the token is disposed.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const { Worker, isMainThread, parentPort } = require('node:worker_threads');

if (isMainThread) {
  const worker = new Worker(__filename);
  const sent = [];
  worker.on('message', () => sent.shift().dispose());
  steps(() => {
    const token = torch.scope(() => torch.randn([64, 32]).share());
    sent.push(token);
    worker.postMessage(token);
  });
} else {
  parentPort.on('message', (token) => {
    torch.scope(() => torch.fromShared(token).sum().item());
    parentPort.postMessage('taken');
  });
}
