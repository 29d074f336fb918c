// Slices are copied, so that the large file is freed, and the last fifty remain.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const headers = [];

steps(() => {
  const file = torch.zeros([1 << 14]);
  headers.push(torch.scope(() => file.narrow(0, 0, 16).clone()));
  file.dispose();
  if (headers.length > 50) headers.shift().dispose();
});
