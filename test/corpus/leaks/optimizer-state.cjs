// The optimizer is created in each training step; a list for checkpoints holds all of them.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const w = torch.randn([50, 10]);
const optimizers = [];

function makeOptimizer(parameter) {
  const momentum = torch.zerosLike(parameter); // LEAK
  return { step: (grad) => momentum.mul_(0.9).add_(grad) };
}

steps(() => {
  const optimizer = makeOptimizer(w);
  optimizers.push(optimizer);
  torch.scope(() => {
    optimizer.step(torch.randn([50, 10]));
  });
});
