// Gradients with a graph, used for a penalty and dropped.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const w = torch.randn([8, 8], { requiresGrad: true });

steps(() =>
  torch.scope(() => {
    const loss = w
      .mul(torch.randn([8, 8]))
      .tanh()
      .sum();
    const [gradient] = torch.autograd.grad(loss, [w], { createGraph: true });
    gradient.square().sum().backward();
    w.grad = null;
  }),
);
