// A scope is opened for each request, and not closed when the request fails.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
function handle(i) {
  const scope = torch.openScope();
  const input = torch.full([200], i); // LEAK
  if (i % 4 !== 0) throw new Error('bad request');
  input.sum().item();
  scope.close();
}

steps((i) => {
  try {
    handle(i);
  } catch {}
});
