// A recurrent state that is never detached: its graph goes back to the first step.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const w = torch.randn([64, 64], { requiresGrad: true });
let state = torch.zeros([16, 64]);

steps(() => {
  state = torch.scope(() => {
    const input = torch.randn([16, 64]);
    const mixed = state.matmul(w).add(input);
    return mixed.tanh(); // LEAK
  });
});
