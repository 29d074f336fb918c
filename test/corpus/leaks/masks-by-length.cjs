// Attention masks, remembered by length; the conversation only becomes longer.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const masks = new Map();
function maskFor(length) {
  if (!masks.has(length)) masks.set(length, torch.keep(torch.ones([length, 16]).tril())); // LEAK
  return masks.get(length);
}

steps((i) => {
  torch.scope(() =>
    maskFor(i + 1)
      .sum()
      .item(),
  );
});
