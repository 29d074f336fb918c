// Failed jobs are tried again with a copy of their input; the old input stays in the list.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const attempts = [];

steps((i) => {
  const input = torch.scope(() => torch.arange(150).mul(i));
  for (let k = 0; k < 2; k++) attempts.push({ job: i, input: input.clone() }); // LEAK
  input.dispose();
});
