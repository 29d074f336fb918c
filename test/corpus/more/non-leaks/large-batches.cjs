// Batches of up to 2 MiB, each freed by its scope.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');

steps((i) =>
  torch.scope(() =>
    torch
      .ones([1 + (i % 8), 1 << 16])
      .mean()
      .item(),
  ),
);
