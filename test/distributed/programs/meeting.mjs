/**
 * `node meeting.mjs method rank size`: two processes that meet over TCP, or cannot: each time both get an error with a code. At the
 * end rank 0, whose process has the store, ends. Both print 'done'.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const [initMethod, rankText] = process.argv.slice(2);
const rank = Number(rankText);
const lost = { code: 'ERR_TORCH_DISTRIBUTED' };

/** Different ports at which nothing listens. */
async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

await d.initProcessGroup({ initMethod, rank, worldSize: 2, timeoutMs: 120_000 });
const [tcpPort, closedPort, storePort] = await d.broadcastObject(await freePorts(3), 0);
await d.destroyProcessGroup();

/** tcp://, and a barrier that names who does not come. */
await d.initProcessGroup({ initMethod: `tcp://127.0.0.1:${tcpPort}`, rank, worldSize: 2, timeoutMs: 120_000 });
const t = torch.ones([2]);
await d.allReduce(t);
assert.equal(t.sum().item(), 4);
const group = await d.newGroup();
if (rank === 0) {
  const late = { code: 'ERR_TORCH_TIMEOUT', message: /\b1\b/ };
  await assert.rejects(d.monitoredBarrier({ group, timeoutMs: 500 }), late);
}
await d.barrier(); // until then rank 1 is there, and does not come
await d.destroyProcessGroup();

/** Nobody listens. */
await assert.rejects(
  d.initProcessGroup({ initMethod: `tcp://127.0.0.1:${closedPort}`, rank: 1, worldSize: 2, timeoutMs: 500 }),
  ({ code }) => /^ERR_TORCH_(TIMEOUT|DISTRIBUTED)$/.test(code),
);
assert.equal(d.isInitialized(), false);

const options = { isMaster: rank === 0, waitForWorkers: false, timeoutMs: 120_000 };
const store = await new d.TCPStore('127.0.0.1', storePort, options).ready();

/** One of them is refused, and the other one waits in vain: both are told why. */
async function disagree(name, mine, refusal, waiting) {
  const error = await d
    .initProcessGroup({ store: new d.PrefixStore(name, store), timeoutMs: 2000, ...mine })
    .then(() => assert.fail(`${name}: expected an error`))
    .catch((caught) => caught);
  await store.set(`${name}/${rank}`, JSON.stringify([error.code, error.message]));
  await store.wait([`${name}/0`, `${name}/1`], 120_000);
  const both = await Promise.all([0, 1].map(async (each) => JSON.parse(String(await store.get(`${name}/${each}`)))));
  const [first, second] = both.sort(([a], [b]) => (a < b ? -1 : 1));
  assert.deepEqual([first[0], second[0]], ['ERR_TORCH_DISTRIBUTED', 'ERR_TORCH_TIMEOUT'], String(both));
  assert.match(first[1], refusal);
  assert.match(second[1], waiting);
}
await disagree(
  'twice',
  { rank: 0, worldSize: 2 },
  /another process has joined as rank 0: process \d+ on /,
  /rank 1 has not joined/,
);
await disagree(
  'sizes',
  { rank, worldSize: 2 + rank },
  /worldSize is [23] here, but another rank joined with [23]/,
  /joined|[Tt]imed? ?out/,
);

/** The store dies with its process. */
if (rank === 1) {
  const waiting = assert.rejects(store.get('never', 120_000), lost);
  await store.set('waits', '1');
  await waiting;
  await assert.rejects(store.set('key', 'value'), lost);
  await assert.rejects(d.initProcessGroup({ store, rank, worldSize: 2, timeoutMs: 120_000 }), lost);
} else await store.wait(['waits'], 120_000);
console.log('done');
