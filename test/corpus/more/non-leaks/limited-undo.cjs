// An editor's history of forty steps.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const history = [];

steps((i) => {
  const next = torch.zeros([24, 24]);
  next.at(i % 24).fill_(1);
  history.push(next);
  if (history.length > 40) history.shift().dispose();
});
