// A header is cut from each large file; the slice keeps the whole file.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const headers = new Map();

steps((i) => {
  const file = torch.zeros([1 << 16]);
  headers.set(i, file.narrow(0, 0, 16)); // LEAK
  file.dispose();
});
