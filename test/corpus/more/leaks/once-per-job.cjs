// Each job waits once for an event that has already been sent.
const { EventEmitter } = require('node:events');
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const model = new EventEmitter().setMaxListeners(0);
model.emit('ready');

steps(() => {
  const batch = torch.randn([128]); // LEAK
  model.once('ready', () => batch.dispose());
});
