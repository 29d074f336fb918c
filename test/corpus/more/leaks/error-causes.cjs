// The last error is the cause of the next one, and each has its batch.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
let last;

function train(batch) {
  batch.sum().item();
  throw Object.assign(new Error('loss is NaN', { cause: last }), { batch });
}

steps(() => {
  try {
    train(torch.randn([64, 4])); // LEAK
  } catch (error) {
    last = error;
  }
});
