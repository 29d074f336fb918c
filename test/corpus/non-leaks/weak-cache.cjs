// Results may be collected; a WeakRef finds them as long as they exist.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const cache = new Map();

steps((i) => {
  const key = i % 150;
  const result = cache.get(key)?.deref() ?? torch.randn([256]);
  cache.set(key, new WeakRef(result));
  torch.scope(() => result.sum().item());
});
