// Beams keep their parents until the request's answer is chosen.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
steps(() =>
  torch.scope(() => {
    let beam = null;
    for (let k = 0; k < 6; k++) beam = { parent: beam, scores: torch.randn([40]) };
    return beam.scores.max().item();
  }),
);
