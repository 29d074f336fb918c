// One result in fifty is kept for a report that nobody clears.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const report = { byDay: {} };

function measure(i, k) {
  const value = torch.randn([256]); // LEAK
  if ((i * 10 + k) % 50 === 0) {
    report.byDay[i % 7] ??= [];
    report.byDay[i % 7].push(value);
  }
  return value.max().item();
}

steps((i) => {
  for (let k = 0; k < 10; k++) measure(i, k);
});
