// A hook for each batch on a long-lived weight, removed after the batch.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const w = torch.randn([64], { requiresGrad: true });
const norms = { last: 0 };

steps(() => {
  const batch = torch.randn([64]);
  const hook = w.registerHook((gradient) => {
    norms.last = batch.dot(gradient).item();
  });
  torch.scope(() => w.mul(2).sum().backward());
  hook.remove();
  batch.dispose();
});
