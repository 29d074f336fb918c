// Entries live for 25 steps.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const entries = new Map();

steps((i) => {
  entries.set(i, torch.randn([100]));
  for (const [born, tensor] of entries) {
    if (i - born < 25) break;
    entries.delete(born);
    tensor.dispose();
  }
});
