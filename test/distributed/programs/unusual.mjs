/**
 * `node unusual.mjs method rank size`: tensors without elements, without contiguous memory and with shapes that do not fit, and
 * calls that differ. Prints 'done'.
 */
import assert from 'node:assert/strict';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const [method, rankText, sizeText] = process.argv.slice(2);
const [rank, size] = [Number(rankText), Number(sizeText)];
await d.initProcessGroup({ initMethod: method, rank, worldSize: size, timeoutMs: 60_000 });
const ranks = Array.from({ length: size }, (_, i) => i);
const argument = { code: 'ERR_TORCH_ARGUMENT' };
const differ = { code: 'ERR_TORCH_DISTRIBUTED', message: /the ranks differ/ };

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
await assert.rejects(d.allReduce(one.expand([4])), argument);
const wide = rank === 0 ? one.expand([4]) : torch.zeros([4]);
await d.broadcast(wide, 0); // it is only read
assert.deepEqual(wide.toArray(), [1, 1, 1, 1]);
const diagonal = torch.eye(2).toSparse();
await d.allReduce(diagonal);
assert.deepEqual(diagonal.toDense().toArray(), [
  [size, 0],
  [0, size],
]);

// Refused here, before the other ranks hear of it: the group stays usable.
const two = () => torch.ones([2]);
const wrong = [
  () => d.allGather([two()], two()),
  () =>
    d.allGather(
      ranks.map((each) => torch.ones([2 + each])),
      two(),
    ),
  () =>
    d.allGather(
      ranks.map(() => torch.ones([2], { dtype: 'int64' })),
      two(),
    ),
  () => d.allGatherIntoTensor(torch.ones([2 * size + 1]), two()),
  () => d.gather(two(), [two()], rank),
  () =>
    d.scatter(
      two(),
      ranks.map((each) => torch.ones([2 + each])),
      rank,
    ),
  () => d.reduceScatter(torch.ones([3]), ranks.map(two)),
  () =>
    d.allToAll(
      ranks.map(two),
      ranks.map(() => torch.ones([2], { dtype: 'float64' })),
    ),
  () => d.allToAllSingle(torch.ones([2 * size + 1]), torch.ones([2 * size + 1])),
  () => d.allToAllSingle(torch.ones([size], { dtype: 'float64' }), torch.ones([size])),
  () => d.allToAllSingle(torch.ones([size]), torch.ones([size]), { inputSplitSizes: ranks.map(() => 2) }),
  () => d.allToAllSingle(torch.ones([]), torch.ones([])),
];
for (const call of rank === 0 ? wrong : []) await assert.rejects(call, argument, String(call));

// Ranks that differ: an error on each.
const rows = (rank + 1) * size;
await assert.rejects(d.allToAllSingle(torch.zeros([rows]), torch.zeros([rows])), differ);
const trailing = () => torch.zeros([size, rank + 1]);
const splits = { inputSplitSizes: ranks.map(() => 1), outputSplitSizes: ranks.map(() => 1) };
await assert.rejects(d.allToAllSingle(trailing(), trailing(), splits), differ);
const uneven = rank === 0 ? { inputSplitSizes: [size, ...ranks.slice(1).map(() => 0)] } : {};
await assert.rejects(d.allToAllSingle(torch.zeros([size]), torch.zeros([size]), uneven), differ);
await d.allToAllSingle(torch.zeros([size]), torch.zeros([size]), rank === 0 ? splits : {}); // the same parts
await assert.rejects(d.allReduce(torch.ones([...Array(200).fill(1), rank + 1])), differ);
await assert.rejects(rank === 0 ? d.barrier() : d.allReduce(two()), differ);
await assert.rejects(rank === 0 ? d.broadcastObject(1, 0) : d.allReduce(two()), differ);
await assert.rejects(rank === 0 ? d.allGatherObject(1) : d.barrier(), differ);
await assert.rejects(d.broadcastObject(1, rank), differ);

const end = torch.ones([1]);
await d.allReduce(end);
assert.equal(end.item(), size);
await d.destroyProcessGroup();
console.log('done');
