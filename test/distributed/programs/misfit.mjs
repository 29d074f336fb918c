/** The Node rank beside misfit.py: what the other rank sends does not fit, which is an error here, and ends no process. */
import assert from 'node:assert/strict';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const [initMethod, rank, worldSize] = process.argv.slice(2);
await d.initProcessGroup({ initMethod, rank: Number(rank), worldSize: Number(worldSize), timeoutMs: 120_000 });
const t = torch.ones([100]);
for (const [call, bytes] of [
  [(group) => d.allReduce(t, { group }), null], // Gloo sends parts
  [(group) => d.broadcast(t, 0, { group }), 4],
  [(group) => d.broadcast(t, 0, { group }), 4000],
  [(group) => d.recv(t, 0, { group }), 4],
  [(group) => d.recv(t, 0, { group }), 4000],
]) {
  const group = await d.newGroup([0, 1], { timeoutMs: 60_000 });
  const message = bytes === null ? /sent \d+ bytes, expected/ : new RegExp(`sent ${bytes} bytes, expected 400`);
  await assert.rejects(call(group), { code: 'ERR_TORCH_DISTRIBUTED', message });
  await assert.rejects(d.allReduce(t, { group }), { code: 'ERR_TORCH_DISTRIBUTED' });
  await d.barrier(); // the other rank ends its call first, as the end of the group would be another error
  await d.destroyProcessGroup(group);
}
console.log('done');
