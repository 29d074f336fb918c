// One update for eight batches: the graph grows for eight steps and is then freed.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const w = torch.randn([64, 1], { requiresGrad: true });
let total = torch.zeros([]);

steps((i) => {
  const before = total;
  total = torch.scope(() => before.add(torch.randn([32, 64]).matmul(w).square().mean()));
  before.dispose();
  if (i % 8 !== 7) return;
  total.backward();
  torch.noGrad(() => torch.scope(() => w.sub_(w.grad, { alpha: 0.01 })));
  w.grad = null;
  total.dispose();
  total = torch.zeros([]);
});
