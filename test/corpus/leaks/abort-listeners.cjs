// One AbortSignal for the life of the process; every call adds a listener, and listeners are never removed.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const { setMaxListeners } = require('node:events');
const { signal } = new AbortController();
setMaxListeners(0, signal);

function classify() {
  const input = torch.randn([1, 196]); // LEAK
  signal.addEventListener('abort', () => input.dispose());
  torch.scope(() => input.softmax(1).argmax().item());
}

steps(classify);
