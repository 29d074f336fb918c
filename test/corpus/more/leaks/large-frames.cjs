// Frames of 1 MiB in a history that is never trimmed.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const history = [];

steps((i) => {
  const frame = torch.zeros([512, 512]); // LEAK
  if (i % 2 === 0) history.push(frame);
  else frame.dispose();
});
