// A heartbeat per session, which is not cleared when the session ends.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
function open() {
  const session = { embedding: torch.randn([300]) }; // LEAK
  setInterval(() => session.embedding.numel, 5000);
}

steps(open);
