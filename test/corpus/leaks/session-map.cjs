// Sessions are deleted by number, but were stored by string.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const sessions = new Map();

steps((i) => {
  sessions.set(String(i), torch.zeros([200])); // LEAK
  sessions.delete(i - 5);
});
