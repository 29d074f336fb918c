// Numbers only: what the graph keeps is a few bytes a step, which no count of tensor memory shows.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const rate = torch.tensor(0.5, { requiresGrad: true });
let score = torch.tensor(0);

steps((i) => {
  score = torch.scope(() => score.add(rate.mul(i))); // LEAK
});
