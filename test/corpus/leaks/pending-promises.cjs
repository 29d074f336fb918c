// A reply that never arrives: the async function waits forever and holds its tensors.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const waiting = new Map();
const reply = (id) => new Promise((resolve) => waiting.set(id, resolve));

async function request(id) {
  const input = torch.randn([256]); // LEAK
  const answer = await reply(id);
  return input.mul(answer);
}

steps((i) => {
  request(i);
  if (i % 10 === 0) waiting.get(i)(2); // one in ten is answered
  if (i % 10 === 0) waiting.delete(i);
});
