/**
 * `node unusual.mjs method rank size`: tensors without elements, and without contiguous memory. Prints
 * 'done'.
 */
import assert from 'node:assert/strict';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const [method, rankText, sizeText] = process.argv.slice(2);
const [rank, size] = [Number(rankText), Number(sizeText)];
await d.initProcessGroup({ initMethod: method, rank, worldSize: size, timeoutMs: 60_000 });
const ranks = Array.from({ length: size }, (_, i) => i);

// Without elements.
const none = () => torch.zeros([0, 3]);
await d.allGather(ranks.map(none), none());
await d.allGatherIntoTensor(none(), none());
await d.allReduce(none());

// Views: every second element, from the other side, conjugated, negative. What lies between is not touched.
const base = torch.zeros([2, 3]);
const column = base.select(1, 1);
column.fill_(rank + 1);
const sum = (size * (size + 1)) / 2;
await d.allReduce(column);
assert.deepEqual(base.toArray(), [
  [0, sum, 0],
  [0, sum, 0],
]);
const turned = rank === 0 ? torch.arange(6).reshape([3, 2]).t() : torch.arange(6).reshape([3, 2]).t().contiguous();
await d.broadcast(turned, 0);
assert.deepEqual(turned.toArray(), [
  [0, 2, 4],
  [1, 3, 5],
]);
const both = torch.complex(torch.ones([2]), torch.ones([2]));
if (rank === 0) await d.send(both.conj(), 1);
if (rank === 1) {
  const target = torch.zeros([2], { dtype: 'complex64' });
  await d.recv(target.conj(), 0);
  assert.deepEqual(target.imag().toArray(), [1, 1]);
}
const negative = both.conj().imag();
await d.allReduce(negative);
assert.deepEqual(negative.toArray(), [-size, -size]);
const one = torch.ones([1]);
const wide = rank === 0 ? one.expand([4]) : torch.zeros([4]);
await d.broadcast(wide, 0); // it is only read
assert.deepEqual(wide.toArray(), [1, 1, 1, 1]);

const end = torch.ones([1]);
await d.allReduce(end);
assert.equal(end.item(), size);
await d.destroyProcessGroup();
console.log('done');
