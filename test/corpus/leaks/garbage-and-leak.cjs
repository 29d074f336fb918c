// One of two tensors from the same line is kept, the other is garbage.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const kept = [];
const sample = () => torch.randn([100]); // LEAK

steps(() => {
  sample();
  kept.push(sample());
});
