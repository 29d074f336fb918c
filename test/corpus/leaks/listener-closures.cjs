// Each connection listens for the shutdown, and never stops listening.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const { EventEmitter } = require('node:events');
const server = new EventEmitter().setMaxListeners(0);

function connect() {
  const state = torch.zeros([512]); // LEAK
  server.on('shutdown', () => state.dispose());
  torch.scope(() => state.add(1).sum().item());
}

steps(connect);
