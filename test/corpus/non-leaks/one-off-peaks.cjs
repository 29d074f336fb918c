// Occasional large imports, whose memory is freed afterwards.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
steps((i) => {
  torch.scope(() => torch.randn([64]).sum().item());
  if (i !== 90 && i !== 150) return;
  const rows = Array.from({ length: 200 }, () => torch.randn([1000]));
  torch.scope(() => torch.stack(rows).mean().item());
  torch.disposeAll(rows);
});
