// Middleware wraps the previous handler: each closure holds the next, and the global one all of them.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
globalThis.handle = (x) => x;

function use() {
  const scale = torch.randn([256]); // LEAK
  const next = globalThis.handle;
  globalThis.handle = (x) => next(x.mul(scale));
}

steps((i) => {
  if (i % 2 === 0) use();
});
