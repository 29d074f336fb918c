// The producer makes three frames while the consumer takes one.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const queue = [];

steps(() => {
  for (let k = 0; k < 3; k++) queue.push(torch.rand([32, 32])); // LEAK
  const frame = queue.shift();
  frame.mean().item();
  frame.dispose();
});
