// First training, then evaluation with its own tables.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const weights = torch.randn([64, 64]);
let tables;

steps((i) => {
  if (i === 110) tables = Array.from({ length: 12 }, () => torch.zeros([64, 64]));
  torch.scope(() => {
    const x = torch.randn([8, 64]).matmul(weights);
    if (tables === undefined) x.sum().item();
    else tables[i % 12].add_(x.mean());
  });
});
