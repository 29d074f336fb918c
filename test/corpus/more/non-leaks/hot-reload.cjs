// A model of six weights is replaced every twenty steps.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
let model = [];

steps((i) => {
  if (i % 20 === 0) {
    torch.disposeAll(model);
    model = Array.from({ length: 6 }, () => torch.randn([60, 60]));
  }
  torch.scope(() => model[i % 6].sum().item());
});
