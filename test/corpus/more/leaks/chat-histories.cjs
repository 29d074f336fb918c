// A chat's keys and values are kept by conversation; conversations end without notice.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const conversations = new Map();

steps((i) => {
  const cache = { keys: torch.zeros([4, 16]), ended: false }; // LEAK
  conversations.set(`chat ${i}`, cache);
  torch.scope(() => cache.keys.mul(2).sum().item());
  cache.ended = true;
});
