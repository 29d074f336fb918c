// Tensors that a scope would have freed are kept for a debugger that is never opened.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const activations = [];
const w = torch.randn([32, 32]);

steps(() => {
  torch.scope(() => {
    const x = torch.randn([8, 32]);
    const hidden = x.matmul(w).relu(); // LEAK
    activations.push(torch.keep(hidden));
    hidden.sum().item();
  });
});
