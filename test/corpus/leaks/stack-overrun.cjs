// Two frames come for each that is worked on, the newest first; the old ones wait for ever.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const stack = [];

steps(() => {
  for (let k = 0; k < 2; k++) stack.push(torch.randn([128])); // LEAK
  stack.pop().dispose();
});
