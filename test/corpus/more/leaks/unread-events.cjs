// An iterator over events that nobody reads: Node keeps every event for it.
const { EventEmitter, on } = require('node:events');
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const camera = new EventEmitter();
const frames = on(camera, 'frame');

steps((i) => {
  if (i === 0) void frames.next();
  camera.emit('frame', torch.zeros([20, 30])); // LEAK
});
