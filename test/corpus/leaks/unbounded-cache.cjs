// Results by request id: ids are unique, and entries are never dropped.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const results = new Map();

steps((i) => {
  const id = `request-${i}`;
  const x = torch.randn([256]);
  if (!results.has(id)) results.set(id, x.mul(2)); // LEAK
});
