/**
 * `node trace.mjs method rank size folder`: a step of data parallel training, recorded. Rank 1 begins its backward when rank 0 is at
 * the end of its own, so the first all-reduce of rank 0 cannot end before: it overlaps the nodes between, however slow the machine.
 */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const { nn } = torch;
const [initMethod, rankText, sizeText, folder] = process.argv.slice(2);
const [rank, worldSize] = [Number(rankText), Number(sizeText)];
torch.setNumThreads(1);
await d.initProcessGroup({ initMethod, rank, worldSize, timeoutMs: 120_000 });
// Each layer fills a bucket, also the first, which has 1 MiB in earlier releases.
const net = new nn.Sequential(...Array.from({ length: 6 }, () => new nn.Linear(512, 512)));
const model = new nn.parallel.DistributedDataParallel(net, { bucketCapMb: 0.5 });
const isAtEnd = path.join(folder, 'at-end');
const step = (watched) => {
  const x = torch.ones([4, 512], { requiresGrad: true });
  if (watched && rank === 0) x.registerHook(() => writeFileSync(isAtEnd, ''));
  model.forward(x).square().mean().backward();
};
for (let i = 0; i < 2; i++) step(false); // the buckets follow the order of the first backward; the second forward waits for all ranks
const trace = await d.trace(async () => {
  while (rank === 1 && !existsSync(isAtEnd)) await sleep(5);
  step(true);
  await d.allReduce(torch.ones([3]));
});
writeFileSync(path.join(folder, `rank-${rank}.json`), JSON.stringify(trace));
await assert.rejects(d.trace(1), { code: 'ERR_TORCH_ARGUMENT' });
await d.trace(() =>
  assert.rejects(
    d.trace(() => {}),
    { code: 'ERR_TORCH_DISTRIBUTED' },
  ),
);
await assert.rejects(
  d.trace(() => {
    throw new Error('mine');
  }),
  { message: 'mine' },
);
await d.destroyProcessGroup();
console.log('done');
