// The model of several programs: what it makes is garbage, but for what its callers keep.
const torch = require('libtorch-node');

class Model {
  constructor(features) {
    this.weight = torch.randn([features, 1], { requiresGrad: true });
  }

  loss(batch) {
    const error = batch.matmul(this.weight).sub(1);
    return error.square().mean();
  }

  update(rate) {
    torch.noGrad(() => this.weight.sub_(this.weight.grad, { alpha: rate }));
    this.weight.grad = null;
  }
}

module.exports = { Model };
