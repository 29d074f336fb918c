// A new model is created for each request, and a registry keeps all of them.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
class Model {
  constructor() {
    this.weight = torch.randn([64, 64]); // LEAK
    this.bias = torch.zeros([64]);
    Model.instances.push(this);
  }
  run = (x) => torch.scope(() => x.matmul(this.weight).add(this.bias).sum().item());
}
Model.instances = [];

const x = torch.ones([1, 64]);
steps(() => new Model().run(x));
