/** Two ranks, of which one is a worker: a store over TCP, collectives, and steps of DistributedDataParallel. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import torch from 'libtorch-node';

const d = torch.distributed;

async function run(rank, { initMethod, port }) {
  await d.initProcessGroup({ initMethod, rank, worldSize: 2 });
  const sum = torch.full([3], rank + 1);
  await d.allReduce(sum);
  assert.deepEqual(sum.toArray(), [3, 3, 3]);
  assert.deepEqual(await d.broadcastObject(rank === 0 ? { from: 0 } : null, 0), { from: 0 });
  const store = new d.TCPStore('127.0.0.1', port);
  await store.set(`rank ${rank}`, 'here');
  await store.wait(['rank 0', 'rank 1']);

  torch.manualSeed(rank);
  const model = new torch.nn.parallel.DistributedDataParallel(new torch.nn.Linear(4, 2));
  const optimizer = new torch.optim.SGD(model.parameters(), { lr: 0.1 });
  for (let step = 0; step < 3; step++) {
    optimizer.zeroGrad();
    // In torch.run, as the ranks are threads of one process, of which each waits for the other.
    await torch.run(() =>
      model
        .forward(torch.randn([8, 4]))
        .square()
        .mean()
        .backward(),
    );
    optimizer.step();
  }
  const weight = model.module.weight.detach().clone();
  const all = [torch.zerosLike(weight), torch.zerosLike(weight)];
  await d.allGather(all, weight);
  assert.ok(torch.equal(all[0], all[1]) && all[0].isfinite().all().item());
  await d.barrier();
  await d.destroyProcessGroup();
}

if (isMainThread) {
  torch.asyncPool.threads = 4; // each rank's backward waits for that of the other
  const folder = mkdtempSync(path.join(os.tmpdir(), 'ranks-'));
  const master = await new d.TCPStore('127.0.0.1', 0, { isMaster: true, waitForWorkers: false }).ready();
  const meeting = { initMethod: `file://${folder}/store`, port: master.port };
  const worker = new Worker(new URL(import.meta.url), { workerData: meeting });
  const [, [said]] = await Promise.all([run(0, meeting), once(worker, 'message')]);
  assert.equal(said, 'done');
  rmSync(folder, { recursive: true });
  console.log('ranks: ok');
} else {
  await run(1, workerData);
  parentPort.postMessage('done');
}
