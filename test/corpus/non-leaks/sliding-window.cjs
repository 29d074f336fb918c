// A window over the last 50 samples: new ones are appended, old ones are cut off.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
let window = torch.zeros([50, 32]);

steps(() => {
  const next = torch.scope(() => torch.cat([window.narrow(0, 1, 49), torch.randn([1, 32])]));
  window.dispose();
  window = next;
});
