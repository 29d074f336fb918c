/**
 * `node unchecked.mjs method rank size`: collectives that the ranks do not compare start in the order of the calls, as rank 1
 * makes them one by one. Prints 'done'.
 */
import assert from 'node:assert/strict';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const [initMethod, rankText, sizeText] = process.argv.slice(2);
const [rank, worldSize] = [Number(rankText), Number(sizeText)];
await d.initProcessGroup({ initMethod, rank, worldSize, checkCollectives: false, timeoutMs: 10_000 });
const sum = torch.full([4], rank + 1);
const sent = torch.full([4], rank);
if (rank === 0) {
  const objects = d.allGatherObject(rank); // several steps, which the second call waits for
  const summed = d.allReduce(sum);
  await objects;
  await Promise.all([summed, d.broadcast(sent, 0)]);
} else {
  await d.allGatherObject(rank);
  await d.allReduce(sum);
  await d.broadcast(sent, 0);
}
assert.deepEqual(sum.toArray(), [3, 3, 3, 3]);
assert.deepEqual(sent.toArray(), [0, 0, 0, 0]);
await d.destroyProcessGroup();
console.log('done');
