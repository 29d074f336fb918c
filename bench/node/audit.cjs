/** The loop for measuring the audit: `add` in scopes of a thousand calls. Prints the nanoseconds per allocation. */
'use strict';

const torch = require('libtorch-node');

const BATCH = 1000;
const batches = Math.max(1, Math.round(Number(process.argv[2]) / BATCH));
torch.setNumThreads(1);
const one = torch.ones([1]);

function add() {
  for (let i = 0; i < BATCH; i++) one.add(one);
}

/** The nanoseconds per allocation over `count` batches. */
function measure(count) {
  const start = process.hrtime.bigint();
  for (let i = 0; i < count; i++) torch.scope(add);
  return Number(process.hrtime.bigint() - start) / (count * BATCH);
}

const warmUntil = Date.now() + Number(process.argv[3] ?? 0);
do measure(Math.max(1, Math.round(batches / 5)));
while (Date.now() < warmUntil); // warm-up
console.log(JSON.stringify({ ns: measure(batches) }));
