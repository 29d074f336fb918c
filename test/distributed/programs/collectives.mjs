/** Every collective, with the values that each rank must have afterwards. `python`: the other ranks run Python. */
import assert from 'node:assert/strict';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const [method, rankText, sizeText] = process.argv.slice(2);
const [rank, size] = [Number(rankText), Number(sizeText)];
const group = await d.initProcessGroup('gloo', { initMethod: method, rank, worldSize: size, timeoutMs: 60_000 });
assert.deepEqual([d.getRank(), d.getWorldSize(), d.getBackend(), d.isInitialized()], [rank, size, 'gloo', true]);
const ranks = Array.from({ length: size }, (_, i) => i);
const newGloo = !/^(1\.|2\.6)/.test(torch.libtorchVersion);
const sum = ranks.reduce((total, each) => total + each + 1, 0);
const row = (value, dtype = 'float32') => torch.full([2, 3], value, { dtype });
const values = (tensor) => tensor.flatten().toArray().map(Number);
const six = (value) => Array(6).fill(value);

// Every dtype of Gloo, and every op.
for (const dtype of ['float16', 'bfloat16', 'float32', 'float64', 'uint8', 'int8', 'int32', 'int64']) {
  const t = row(rank + 1, dtype);
  try {
    await d.allReduce(t);
  } catch (error) {
    // Releases of Gloo have both small types, float16 alone, or none.
    assert.ok(dtype === 'bfloat16' || (dtype === 'float16' && newGloo), error);
    assert.equal(error.code, 'ERR_TORCH_ARGUMENT');
    continue;
  }
  assert.deepEqual(values(t), six(sum), dtype);
}
const combined = {
  product: (a, b) => a * b,
  min: Math.min,
  max: Math.max,
  band: (a, b) => a & b,
  bor: (a, b) => a | b,
  bxor: (a, b) => a ^ b,
};
for (const [op, combine] of Object.entries(combined)) {
  const t = row(rank + 1, 'int32');
  await d.allReduce(t, { op });
  assert.deepEqual(values(t), six(ranks.map((each) => each + 1).reduce((a, b) => combine(a, b))), op);
}
const mean = row(rank + 1, 'float64');
await d.allReduce(mean, { op: d.ReduceOp.AVG });
assert.deepEqual(values(mean), six(sum / size));
await assert.rejects(d.allReduce(row(1, 'int32'), { op: 'avg' }), { code: 'ERR_TORCH_ARGUMENT' });
await assert.rejects(d.allReduce(torch.ones([2], { dtype: 'complex64' })), { code: 'ERR_TORCH_ARGUMENT' });

const sent = row(rank);
await d.broadcast(sent, size - 1);
assert.deepEqual(values(sent), six(size - 1));

const reduced = row(rank + 1);
await d.reduce(reduced, 0);
if (rank === 0) assert.deepEqual(values(reduced), six(sum));

const list = ranks.map(() => row(-1));
await d.allGather(list, row(rank));
assert.deepEqual(
  list.map((t) => values(t)[0]),
  ranks,
);
const whole = torch.zeros([2 * size, 3]);
await d.allGatherIntoTensor(whole, row(rank));
assert.deepEqual(
  values(whole),
  ranks.flatMap((each) => six(each)),
);

const gathered = rank === 0 ? ranks.map(() => row(-1)) : null;
await d.gather(row(rank), gathered, 0);
if (rank === 0)
  assert.deepEqual(
    gathered.map((t) => values(t)[0]),
    ranks,
  );

const mine = row(-1);
await d.scatter(mine, rank === 0 ? ranks.map((each) => row(each * 10)) : null, 0);
assert.deepEqual(values(mine), six(rank * 10));

const part = row(0);
await d.reduceScatter(
  part,
  ranks.map((each) => row(each + rank)),
);
assert.deepEqual(values(part), six(size * rank + sum - size));

const come = ranks.map(() => row(-1));
await d.allToAll(
  come,
  ranks.map((each) => row(rank * 100 + each)),
);
assert.deepEqual(
  come.map((t) => values(t)[0]),
  ranks.map((each) => each * 100 + rank),
);
const single = torch.zeros([size]);
await d.allToAllSingle(single, torch.tensor(ranks.map((each) => rank * 10 + each)));
assert.deepEqual(
  values(single),
  ranks.map((each) => each * 10 + rank),
);

// To the next rank, with any dtype, from a known and from any rank.
const next = (rank + 1) % size;
const before = (rank + size - 1) % size;
const got = torch.zeros([3], { dtype: 'complex64' });
const flags = torch.zeros([2], { dtype: 'bool' });
const [, , source, known] = await Promise.all([
  d.send(torch.ones([3], { dtype: 'complex64' }), next, { tag: 1 }),
  d.send(torch.ones([2], { dtype: 'bool' }), next, { tag: 2 }),
  d.recv(got, null, { tag: 1 }),
  d.recv(flags, before, { tag: 2 }),
]);
assert.deepEqual([source, known, flags.all().item(), got.sum().item().re], [before, before, true, 3]);

// Objects.
const value = { rank, map: new Map([['bytes', new Uint8Array(rank + 1)]]) };
assert.deepEqual(
  await d.allGatherObject(value),
  ranks.map((each) => ({ rank: each, map: new Map([['bytes', new Uint8Array(each + 1)]]) })),
);
assert.deepEqual(await d.broadcastObject(rank, 1), 1);
assert.deepEqual(await d.gatherObject(`r${rank}`, 1), rank === 1 ? ranks.map((each) => `r${each}`) : null);
assert.deepEqual(await d.scatterObject(rank === 0 ? ranks.map((each) => [each]) : null), [rank]);
const [, object] = await Promise.all([d.sendObject({ from: rank }, next), d.recvObject(before)]);
assert.deepEqual(object, { from: before });
await assert.rejects(
  d.sendObject(() => 1, next),
  { code: 'ERR_TORCH_ARGUMENT' },
);

// Groups of some ranks; calls that are not awaited keep their order.
const even = await d.newGroup(ranks.filter((each) => each % 2 === 0));
if (rank % 2 === 0) {
  const t = row(rank);
  await d.allReduce(t, { group: even });
  assert.deepEqual(values(t), six(ranks.filter((each) => each % 2 === 0).reduce((a, b) => a + b)));
} else {
  assert.equal(d.getRank(even), -1);
  await assert.rejects(d.allReduce(row(1), { group: even }), { code: 'ERR_TORCH_DISTRIBUTED' });
}
const many = Array.from({ length: 20 }, (_, i) => row(i));
await Promise.all([...many.map((t) => d.allReduce(t)), d.allGatherObject(rank), d.allReduce(mean)]);
assert.deepEqual(
  many.map((t) => values(t)[0]),
  many.map((_, i) => i * size),
);

// A tensor that is disposed meanwhile.
const { tensors } = torch.memory();
const disposed = row(1);
const pending = d.allReduce(disposed);
disposed.dispose();
await pending;
assert.ok(torch.memory().tensors <= tensors + 4);

// Ranks that differ: an error on each, and the group still works.
await assert.rejects(d.allReduce(torch.ones([rank + 1])), {
  code: 'ERR_TORCH_DISTRIBUTED',
  message: /float32\[1\].*float32\[2\]/,
});
await assert.rejects(d.broadcast(row(1, rank === 0 ? 'int32' : 'float32'), 0), { code: 'ERR_TORCH_DISTRIBUTED' });
await assert.rejects(rank === 0 ? d.allReduce(row(1)) : d.broadcast(row(1), 0), { code: 'ERR_TORCH_DISTRIBUTED' });
await d.monitoredBarrier({ timeoutMs: 30_000 });
await d.barrier();
await d.destroyProcessGroup();
assert.ok(group.destroyed && !d.isInitialized());
await assert.rejects(d.barrier(), { code: 'ERR_TORCH_DISTRIBUTED' });
console.log('done');
