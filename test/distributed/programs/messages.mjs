/**
 * `node messages.mjs method rank size`: two ranks whose messages do not fit, were withdrawn, or end in the middle. Rank 0 prints
 * 'done'; at the end it kills rank 1. Each case has a group of its own, because most make it unusable.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const [initMethod, rankText] = process.argv.slice(2);
const rank = Number(rankText);
await d.initProcessGroup({ initMethod, rank, worldSize: 2, timeoutMs: 120_000 });
const lost = { code: 'ERR_TORCH_DISTRIBUTED' };
const { tensors } = torch.memory();
const mean = (t) => torch.scope(() => t.mean().item());

/** What rank 1 sends does not fit: an error of the receiver, and of everything that comes later in the group. */
async function differs(sent, received, source) {
  const group = await d.newGroup(null, { timeoutMs: 120_000 });
  const mine = torch.ones([rank === 1 ? sent : received]);
  if (rank === 1) {
    await d.send(mine, 0, { group }).catch(({ code }) => assert.equal(code, lost.code));
    await assert.rejects(d.recv(mine, 0, { group }), lost);
  } else {
    const message = new RegExp(`rank 1 of the group sent ${4 * sent} bytes, expected ${4 * received}`);
    await assert.rejects(d.recv(mine, source, { group }), { ...lost, message });
    await assert.rejects(d.barrier({ group }), lost);
  }
  mine.dispose();
  await d.destroyProcessGroup(group);
}

/** A message for a recv that was withdrawn is dropped, and the next one arrives. */
async function droppedMessage(length) {
  const group = await d.newGroup(null, { timeoutMs: 120_000 });
  const t = torch.full([length], rank === 1 ? 1 : 0);
  if (rank === 0) {
    const stop = new AbortController();
    const waiting = d.recv(t, 1, { group, tag: 3, signal: stop.signal });
    stop.abort(new Error('enough'));
    await assert.rejects(waiting, { message: 'enough' });
  }
  await d.barrier();
  if (rank === 1) {
    await d.send(t, 0, { group, tag: 3 });
    await d.send(t.fill_(2), 0, { group, tag: 4 });
    await d.send(t.fill_(3), 0, { group, tag: 3 });
  } else {
    const fresh = torch.zeros([length]);
    await d.recv(fresh, 1, { group, tag: 4 });
    assert.equal(mean(fresh), 2);
    await d.recv(fresh, 1, { group, tag: 3 });
    assert.equal(mean(fresh), 3);
    fresh.dispose();
  }
  t.dispose();
  await d.barrier({ group });
  await d.destroyProcessGroup(group);
}

/** After a send that was withdrawn, the receiver gets the next one. */
async function withdrawnSend() {
  const group = await d.newGroup(null, { timeoutMs: 120_000 });
  const t = torch.full([4], 1);
  if (rank === 0) {
    const stop = new AbortController();
    const waiting = d.send(t, 1, { group, tag: 3, signal: stop.signal });
    stop.abort(new Error('enough'));
    await assert.rejects(waiting, { message: 'enough' });
    await d.barrier();
    const next = torch.full([4], 2);
    await d.send(next, 1, { group, tag: 3 });
    next.dispose();
  } else {
    await d.barrier();
    // It may still have been sent, if its thread had not noticed.
    do await d.recv(t, 0, { group, tag: 3 });
    while (mean(t) !== 2);
  }
  t.dispose();
  await d.barrier({ group });
  await d.destroyProcessGroup(group);
}

/** A collective whose signal is aborted goes on, so the other rank gets its result, and the group stays usable. */
async function abortedCollective() {
  const t = torch.full([4], rank);
  const stop = new AbortController();
  const call = d.allReduce(t, { signal: stop.signal });
  const object = d.allGatherObject(rank, { signal: stop.signal });
  if (rank === 0) {
    stop.abort(new Error('enough'));
    await assert.rejects(call, { message: 'enough' });
    await assert.rejects(object, { message: 'enough' });
  } else {
    await call;
    assert.equal(mean(t), 1);
    assert.deepEqual(await object, [0, 1]);
  }
  await assert.rejects(d.allReduce(t, { signal: AbortSignal.abort(new Error('before')) }), { message: 'before' });
  const after = torch.full([4], rank); // `t` belongs to the call that was aborted
  await d.allReduce(after);
  assert.equal(mean(after), 1);
  torch.disposeAll([t, after]);
}

/** Nobody waits for these: each that fails is one unhandled rejection, and none is lost or ends the process. */
async function notAwaited() {
  const group = await d.newGroup(null, { timeoutMs: 120_000 });
  const seen = [];
  const note = (error) => seen.push(error);
  process.on('unhandledRejection', note);
  const t = torch.ones([1000]);
  if (rank === 0) {
    d.allReduce(t, { group });
    d.allGatherObject({ of: rank }, { group });
    d.barrier({ group });
    d.recv(t, 1, { group, tag: 9 });
    t.dispose();
    await d.destroyProcessGroup(group); // with all of them in progress
    await d.barrier();
    for (let i = 0; seen.length < 4 && i < 1000; i++) await sleep(20);
    assert.deepEqual(
      seen.map(({ code, message }) => [code, /was destroyed/.test(message)]),
      Array(4).fill([lost.code, true]),
    );
  } else {
    await d.barrier();
    t.dispose();
    await d.destroyProcessGroup(group);
  }
  await sleep(0);
  process.off('unhandledRejection', note);
}

/** Rank 1 stops in the middle of a large message each way, and is killed: both calls of rank 0 end before their limit. */
async function killedInTheMiddle() {
  const pids = await d.allGatherObject(process.pid);
  const [out, into] = [torch.ones([2 ** 24]), torch.zeros([2 ** 24])];
  const received = d.recv(into, 1 - rank, { tag: 1 });
  await d.monitoredBarrier();
  const sent = d.send(out, 1 - rank, { tag: 1 });
  if (rank === 1) process.kill(process.pid, 'SIGSTOP');
  for (const call of [sent, received]) call.catch(() => {});
  await sleep(300); // more than the sockets take has begun
  process.kill(pids[1], 'SIGKILL');
  await assert.rejects(sent, lost);
  await assert.rejects(received, lost);
}

await differs(4, 100, 1);
await differs(1000, 10, 1);
await differs(50, 51, null);
await droppedMessage(4);
await droppedMessage(2 ** 22);
await withdrawnSend();
await abortedCollective();
await notAwaited();
for (let i = 0; torch.memory().tensors > tensors && i < 1000; i++) await sleep(20);
assert.equal(torch.memory().tensors, tensors);
await killedInTheMiddle();
console.log('done');
