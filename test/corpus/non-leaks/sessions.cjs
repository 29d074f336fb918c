// Sessions open and end in any order, at most thirty at a time.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const sessions = new Map();
let seed = 7;

steps((i) => {
  sessions.set(i, torch.zeros([200]));
  if (sessions.size < 30) return;
  seed = (seed * 1103515245 + 12345) % 2147483648;
  const ids = [...sessions.keys()];
  for (const id of ids.filter((_, k) => (k + seed) % 3 === 0)) {
    sessions.get(id).dispose();
    sessions.delete(id);
  }
});
