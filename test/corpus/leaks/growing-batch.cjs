// Samples are appended to a batch that is never truncated.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
let batch = torch.randn([1, 128]);

steps(() => {
  batch = torch.cat([batch, torch.randn([1, 128])]); // LEAK
  torch.scope(() => batch.mean([1]));
});
