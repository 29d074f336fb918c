// An optimizer's state is made in the first step and updated in place.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const weights = Array.from({ length: 6 }, () => torch.randn([20, 10]));
const state = new Map();

steps(() => {
  for (const w of weights) {
    const average = state.get(w) ?? torch.zerosLike(w);
    state.set(w, average);
    torch.scope(() => average.mul_(0.9).add_(torch.randn([20, 10])));
  }
});
