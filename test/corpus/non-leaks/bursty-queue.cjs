// Work arrives in bursts and is processed.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const queue = [];

steps((i) => {
  if (i % 20 === 0) for (let k = 0; k < 30; k++) queue.push(torch.randn([64]));
  for (let k = 0; k < 2 && queue.length > 0; k++) queue.shift().dispose();
});
