// Listeners come and go with their connection; the tensors are left to the collector.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const { EventEmitter } = require('node:events');
const server = new EventEmitter().setMaxListeners(0);
const open = [];

steps(() => {
  const state = torch.zeros([512]);
  const stop = () => state.numel;
  server.on('shutdown', stop);
  open.push(stop);
  if (open.length > 10) server.off('shutdown', open.shift());
});
