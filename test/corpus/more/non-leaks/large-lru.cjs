// The last twenty frames of 256 KiB.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const frames = new Map();

steps((i) => {
  frames.set(i, torch.zeros([256, 256]));
  if (frames.size > 20) {
    const [oldest, frame] = frames.entries().next().value;
    frames.delete(oldest);
    frame.dispose();
  }
});
