// Results of torch.async, replaced by key: eight keys.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const scores = new Map();

steps(async (i) => {
  const x = torch.randn([30, 30]);
  const score = await torch.async.matmul(x, x);
  x.dispose();
  scores.get(i % 8)?.dispose();
  scores.set(i % 8, score);
});
