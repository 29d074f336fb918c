// Results of torch.async are stored by a key that nobody deletes.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const scores = new Map();

steps(async (i) => {
  const x = torch.randn([30, 30]);
  const score = await torch.async.matmul(x, x); // LEAK
  x.dispose();
  scores.set(Symbol(i), score);
});
