// Every beam keeps its parent, and the best beam of each request is kept for a report.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const report = [];

function extend(parent) {
  const scores = torch.randn([40]); // LEAK
  return { parent, scores, best: scores.max().item() };
}

steps(() => {
  let beam = null;
  for (let k = 0; k < 4; k++) beam = extend(beam);
  report.push(beam);
});
