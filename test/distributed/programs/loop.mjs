/**
 * `node loop.mjs method rank size`: rank 1 takes part in a collective only when rank 0 has told it to, and rank 0 tells it from a
 * timer that it sets after its own call, many turns of its event loop later. So a call that held up the loop would never end.
 * Prints 'done'.
 */
import assert from 'node:assert/strict';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const { nn } = torch;
const [initMethod, rankText, sizeText] = process.argv.slice(2);
const [rank, worldSize] = [Number(rankText), Number(sizeText)];
const TURNS = 200;
/** What the ranks tell each other outside the collectives. */
const told = new d.FileStore(`${new URL(initMethod).pathname}-told`, worldSize);

/** Rank 0 calls at once and counts the turns of its loop; the collective cannot end before the last of them. */
async function held(name, call) {
  if (rank === 1) {
    await told.wait([name], 120_000);
    return call();
  }
  let isEnded = false;
  const pending = Promise.resolve(call()).finally(() => {
    isEnded = true;
  });
  for (let turn = 0; turn < TURNS; turn++) {
    // A timer and an immediate in turn.
    await new Promise((resolve) => (turn % 2 === 0 ? setTimeout(resolve, 1) : setImmediate(resolve)));
    assert.equal(isEnded, false, `${name} ended without rank 1`);
  }
  await told.set(name, '');
  await pending;
}

torch.setNumThreads(1);
for (const checkCollectives of [true, false]) {
  await d.initProcessGroup({ initMethod: `${initMethod}-${checkCollectives}`, rank, worldSize, checkCollectives });
  const t = torch.full([1000], rank + 1);
  await held(`allReduce, checks ${checkCollectives}`, () => d.allReduce(t));
  assert.equal(t.sum().item(), 3000);
  t.dispose();
  if (checkCollectives) await d.destroyProcessGroup();
}

const ddp = new nn.parallel.DistributedDataParallel(new nn.Linear(4, 2));
const learn = () =>
  ddp
    .forward(torch.full([3, 4], rank))
    .sum()
    .backward();
for (const step of [0, 1, 2]) {
  // The second forward waits on the JavaScript thread: there the ranks agree on the buckets.
  if (step === 1) torch.scope(learn);
  else await held(`backward, step ${step}`, () => torch.scope(() => torch.run(learn)));
  ddp.zeroGrad();
}
ddp.dispose();
await d.destroyProcessGroup();
console.log('done');
