// A request that never answers keeps its context of AsyncLocalStorage.
const { AsyncLocalStorage } = require('node:async_hooks');
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const context = new AsyncLocalStorage();
const waiting = [];

steps((i) => {
  const features = torch.randn([200]); // LEAK
  context.run({ id: i, features }, () => {
    waiting.push(new Promise(() => {}).then(() => context.getStore()));
  });
});
