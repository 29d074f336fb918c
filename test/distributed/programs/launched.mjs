/**
 * A rank that a launcher has started: everything comes from the environment. `node launched.mjs [restart]`: with `restart`, rank 1
 * fails once, and the launcher has to start both again.
 */
import assert from 'node:assert/strict';
import torch from '../../../dist/lib/index.mjs';

const { RANK, TORCHELASTIC_RESTART_COUNT, TORCHELASTIC_USE_AGENT_STORE } = process.env;
await torch.distributed.initProcessGroup({ timeoutMs: 60_000 });
const t = torch.full([2], torch.distributed.getRank() + 1);
await torch.distributed.allReduce(t);
assert.deepEqual(t.toArray(), [3, 3]);
if (process.argv[2] === 'restart' && TORCHELASTIC_RESTART_COUNT === '0') {
  if (RANK === '1') process.exit(3);
  await assert.rejects(torch.distributed.barrier(), { code: 'ERR_TORCH_DISTRIBUTED' });
  process.exit(4);
}
await torch.distributed.destroyProcessGroup();
console.log(`rank ${RANK} done, restarts ${TORCHELASTIC_RESTART_COUNT}, agent's store ${TORCHELASTIC_USE_AGENT_STORE}`);
