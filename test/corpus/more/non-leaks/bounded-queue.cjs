// The producer waits while the queue is full.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const queue = [];

steps((i) => {
  if (queue.length < 12) queue.push(torch.rand([32, 32]), torch.rand([32, 32]));
  if (i % 3 > 0) queue.shift().dispose();
});
