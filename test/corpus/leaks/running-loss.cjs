// A sum of losses for a log line, without scopes: garbage everywhere, and one tensor that carries the graphs of all steps.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const { Model } = require('../parts/model.cjs');
const model = new Model(64);
let total = torch.zeros([]);

function train() {
  const loss = model.loss(torch.randn([32, 64]));
  loss.backward({ retainGraph: true });
  model.update(0.01);
  total = total.add(loss); // LEAK
}

steps((i) => {
  train();
  if (i % 10 === 0) total.div(i + 1).item();
});
