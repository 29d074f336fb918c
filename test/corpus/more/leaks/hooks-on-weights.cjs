// A hook for each batch on a weight that lives as long as the service; none is removed.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const w = torch.randn([64], { requiresGrad: true });
const norms = [];

steps((i) => {
  const batch = torch.randn([64]); // LEAK
  w.registerHook((gradient) => void norms.push(batch.dot(gradient).item()));
  if (i % 40 === 0) torch.scope(() => w.detach().norm().item());
});
