// Each new frame replaces the previous one.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
let frame = torch.zeros([64, 64]);

steps(() => {
  const next = torch.scope(() => frame.mul(0.9).add(torch.randn([64, 64])));
  frame.dispose();
  frame = next;
});
