// Each job is raced against its own time limit, which is cleared.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
steps(async (i) => {
  const input = torch.full([300], i);
  let timer;
  const limit = new Promise((resolve) => (timer = setTimeout(resolve, 5000)));
  const job = async () => input.sum().item();
  await Promise.race([job(), limit]);
  clearTimeout(timer);
  input.dispose();
});
