// An iterator over events that is read as fast as they come.
const { EventEmitter, on } = require('node:events');
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const camera = new EventEmitter();

(async () => {
  for await (const [frame] of on(camera, 'frame')) frame.dispose();
})();
steps(() => camera.emit('frame', torch.zeros([20, 30])));
