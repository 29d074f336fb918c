// Results by key; the least recently used one is evicted.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const cache = new Map();

steps((i) => {
  const key = (i * 7919) % 97;
  const hit = cache.get(key) ?? torch.randn([256]);
  cache.delete(key);
  cache.set(key, hit);
  if (cache.size <= 40) return;
  const [oldest, tensor] = cache.entries().next().value;
  cache.delete(oldest);
  tensor.dispose();
});
