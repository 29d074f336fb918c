// Layers are created at first use, some of them late.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const layers = new Map();
function layer(n) {
  if (!layers.has(n)) layers.set(n, torch.keep(torch.randn([64, 64])));
  return layers.get(n);
}

steps((i) => {
  const depth = i < 30 ? 2 : i < 120 ? 4 : 5;
  torch.scope(() => {
    let x = torch.ones([1, 64]);
    for (let n = 0; n < depth; n++) x = x.matmul(layer(n)).tanh();
    x.sum().item();
  });
});
