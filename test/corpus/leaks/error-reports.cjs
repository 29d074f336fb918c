// Bad requests are kept with their input for a later report.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const reports = [];

function classify(i) {
  const input = torch.randn([100]); // LEAK
  if (i % 3 === 0) throw Object.assign(new Error('bad request'), { input });
  input.dispose();
}

steps((i) => {
  try {
    classify(i);
  } catch (error) {
    reports.push(error);
  }
});
