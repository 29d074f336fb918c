// Each block moves its result to its parent scope, which lasts as long as the service.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const service = torch.openScope();

steps(() => {
  const block = torch.openScope();
  const x = torch.randn([16, 16]);
  block.move(x.softmax(1)); // LEAK
  block[Symbol.dispose]();
});
process.on('exit', () => service[Symbol.dispose]());
