// Nearly all is garbage, hundreds at a time; one in ten steps a single small tensor stays.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const outliers = [];

function measure(i) {
  for (let k = 0; k < 20; k++) {
    const sample = torch.randn([64]); // LEAK
    if (k === 0 && i % 8 === 0) outliers.push(sample);
    sample.abs().max().item();
  }
}

steps(measure);
