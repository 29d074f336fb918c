// Only the last failed batch is kept.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
let last;

steps(() => {
  const batch = torch.randn([64, 4]);
  try {
    batch.matmul(batch);
  } catch (error) {
    last?.batch.dispose();
    last = { error, batch };
  }
});
