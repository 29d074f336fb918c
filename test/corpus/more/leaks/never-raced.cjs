// Each job is raced against a promise of the shutdown, which keeps the reactions of all of them.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const shutdown = new Promise(() => {});

steps((i) => {
  const input = torch.full([300], i); // LEAK
  const job = async () => input.sum().item();
  void Promise.race([job(), shutdown.then(() => input.dispose())]);
});
