// Training without scopes: each step's graph is freed by the garbage collector, and the loss is logged as a number.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const { Model } = require('../parts/model.cjs');
const model = new Model(64);
const log = [];

steps(() => {
  const loss = model.loss(torch.randn([32, 64]));
  loss.backward();
  model.update(0.01);
  log.push(loss.item());
});
