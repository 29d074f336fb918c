/** A rank that a launcher has started: everything comes from the environment. */
import assert from 'node:assert/strict';
import torch from '../../../dist/lib/index.mjs';

await torch.distributed.initProcessGroup({ timeoutMs: 60_000 });
const t = torch.full([2], torch.distributed.getRank() + 1);
await torch.distributed.allReduce(t);
assert.deepEqual(t.toArray(), [3, 3]);
await torch.distributed.destroyProcessGroup();
console.log(`rank ${process.env.RANK} done`);
