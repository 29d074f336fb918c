// Thirty random samples of a stream; each new one replaces another.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const kept = [];

steps((i) => {
  for (let k = 0; k < 4; k++) {
    const sample = torch.full([80], i);
    const at = (i * 7919 + k * 104729) % 30;
    kept[at]?.dispose();
    kept[at] = sample;
  }
});
