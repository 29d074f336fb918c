// Each request has a context of AsyncLocalStorage and is answered a few steps later.
const { AsyncLocalStorage } = require('node:async_hooks');
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const context = new AsyncLocalStorage();
const waiting = [];

steps((i) => {
  const features = torch.randn([200]);
  context.run({ id: i, features }, () => {
    waiting.push(new Promise((resolve) => setTimeout(resolve, 40)).then(() => context.getStore().features.dispose()));
  });
  if (waiting.length > 10) waiting.shift();
});
