// Running sums by name; the values in the map are replaced, their graphs are not.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const { Model } = require('../parts/model.cjs');
const models = { train: new Model(32), test: new Model(32) };
const sums = new Map();

steps((i) => {
  const name = i % 4 === 0 ? 'test' : 'train';
  const loss = models[name].loss(torch.randn([64, 32]));
  const before = sums.get(name);
  sums.set(name, before === undefined ? loss : before.add(loss)); // LEAK
});
