// Replies take twenty steps, but they arrive.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const waiting = [];

async function request() {
  const input = torch.randn([256]);
  await new Promise((resolve) => waiting.push(resolve));
  input.dispose();
}

steps(() => {
  request();
  if (waiting.length > 20) waiting.shift()();
});
