// The log holds tensors of one number instead of numbers.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const log = [];

steps((i) => {
  torch.scope(() => torch.randn([128, 16]).sum().item());
  for (let k = 0; k < 2; k++) log.push({ step: i, loss: torch.tensor(i * k) }); // LEAK
});
