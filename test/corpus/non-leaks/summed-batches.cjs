// The losses of sixteen batches are summed up, without scopes, before one step back.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const { Model } = require('../parts/model.cjs');
const model = new Model(32);
let total;

steps((i) => {
  const loss = model.loss(torch.randn([16, 32]));
  total = total === undefined ? loss : total.add(loss);
  if (i % 16 !== 15) return;
  total.backward();
  model.update(0.001);
  total = undefined;
});
