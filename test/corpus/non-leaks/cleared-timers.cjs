// Each session has a timer, and an end.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const sessions = [];

steps(() => {
  const embedding = torch.randn([300]);
  sessions.push({ embedding, timer: setInterval(() => embedding.numel, 5000) });
  if (sessions.length <= 15) return;
  const session = sessions.shift();
  clearInterval(session.timer);
  session.embedding.dispose();
});
