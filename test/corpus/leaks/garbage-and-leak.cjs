// Garbage from the same line, and one of two is kept.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const kept = [];
const sample = () => torch.randn([100]); // LEAK

steps(() => {
  sample();
  kept.push(sample());
});
