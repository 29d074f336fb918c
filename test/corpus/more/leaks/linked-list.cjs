// The newest node leads to all earlier ones.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
let newest = null;

steps((i) => {
  torch.scope(() => torch.randn([100]).sort().values.sum().item());
  newest = { older: newest, value: torch.full([70], i) }; // LEAK
});
