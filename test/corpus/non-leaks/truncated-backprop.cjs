// A recurrent net whose state is detached after every ten steps: the graph grows for ten steps and is then released.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const w = torch.randn([32, 32], { requiresGrad: true });
let state = torch.zeros([8, 32]);

steps((i) => {
  state = state
    .matmul(w)
    .add(torch.randn([8, 32]))
    .tanh();
  if (i % 10 !== 9) return;
  state.square().mean().backward();
  w.grad = null;
  state = state.detach();
});
