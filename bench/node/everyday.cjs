/**
 * Ordinary calls on small tensors, those of bench/support/everyday.json. The first argument says how results are freed: `scope`
 * (a scope around each batch) or `gc`. See bench/cpp/ops.cpp for the protocol.
 */
'use strict';

const torch = require('libtorch-node');
const { serve } = require('./serve.cjs');
const calls = require('../support/everyday.json');

const BATCH = 200;
const lifetime = process.argv[2];

torch.setNumThreads(Number(process.env.BENCH_THREADS ?? 1));
torch.manualSeed(0);
const { nn } = torch;
const x = torch.randn([8, 16]);
const names = {
  torch,
  F: nn.functional,
  x,
  xT: x.t(),
  v: torch.randn([4]),
  s: torch.tensor(1.5),
  ids: torch.arange(8),
  column: torch.zeros([8, 1], { dtype: 'int64' }),
  mask: torch.tensor([true, false, true, false, true, false, true, false]),
  positive: x.gt(0),
  weight: torch.randn([4, 16]),
  list32: Array.from({ length: 32 }, () => torch.randn([4])),
  image: torch.randn([1, 3, 8, 8]),
  kernel: torch.randn([4, 3, 3, 3]),
  layer: new nn.Linear(16, 8),
  net: new nn.Sequential(new nn.Linear(16, 8), new nn.ReLU(), new nn.Linear(8, 4)),
};
names.adam = new torch.optim.Adam(names.layer.parameters());
names.layer.forward(x).sum().backward();

/** A loop of its own for each call, as in a program. */
const loopOf = (call) => {
  const loop = new Function(...Object.keys(names), `return () => { for (let n = 0; n < ${BATCH}; n++) { ${call}; } };`)(
    ...Object.values(names),
  );
  return lifetime === 'scope' ? () => torch.scope(loop) : loop;
};
const loops = calls.map(([call]) => loopOf(call));

serve((index) => ({ loop: loops[Number(index)], count: BATCH }));
