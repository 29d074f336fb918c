/** Steps of optimizers from Node, outside every scope. See bench/cpp/ops.cpp for the protocol. */
'use strict';

const torch = require('libtorch-node');
const { serve } = require('./serve.cjs');

torch.setNumThreads(Number(process.env.BENCH_THREADS ?? 1));

/** An optimizer of 100 parameters with 1,000 elements each, and their gradients. */
function stepOf(name, options) {
  const parameters = Array.from({ length: 100 }, () => {
    const parameter = torch.randn([1000]).requiresGrad_();
    parameter.grad = torch.randn([1000]);
    return parameter;
  });
  const optimizer = new torch.optim[name](parameters, options);
  return () => void optimizer.step();
}

const optimizers = {
  sgd: ['SGD', { lr: 1e-3, momentum: 0.9 }],
  adam: ['Adam', { lr: 1e-3 }],
  adamw: ['AdamW', { lr: 1e-3 }],
  fused: ['Adam', { lr: 1e-3, fused: true }], // libtorch 2.4 and newer
};
const loops = {};

serve((op) => {
  loops[op] ??= stepOf(...optimizers[op]);
  return { loop: loops[op], count: 1 };
});
