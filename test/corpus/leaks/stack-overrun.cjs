// Two frames arrive for each processed one, newest first; the old ones wait forever.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const stack = [];

steps(() => {
  for (let k = 0; k < 2; k++) stack.push(torch.randn([128])); // LEAK
  stack.pop().dispose();
});
