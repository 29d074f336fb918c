/**
 * `node terminated.mjs method rank size case`: the worker of rank 0 waits on its JavaScript thread, for longer than a test may
 * take, and is terminated. Prints 'done' if it ends, and if rank 1 gets an error. In each case rank 1 does what rank 0 needs of
 * it until then.
 */
import assert from 'node:assert/strict';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const { nn, optim } = torch;
const lost = { code: 'ERR_TORCH_DISTRIBUTED' };
const HOUR = 3_600_000;
/** Long enough for a call that does not wait to be over. */
const BUSY_MS = 300;

const [initMethod, rankText, sizeText, name] = isMainThread ? process.argv.slice(2) : workerData;
const [rank, worldSize] = [Number(rankText), Number(sizeText)];
const ddp = () => new nn.parallel.DistributedDataParallel(new nn.Linear(4, 4));
const loss = (module) => module.forward(torch.ones([4, 4])).sum();

/** What both ranks do; then what rank 0 does alone. */
const cases = {
  'the forward of SyncBatchNorm': [() => new nn.SyncBatchNorm(4), (norm) => norm.forward(torch.ones([4, 4]))],
  'the backward of SyncBatchNorm': [
    () => new nn.SyncBatchNorm(4).forward(torch.randn([4, 4], { requiresGrad: true })).sum(),
    (sum) => sum.backward(),
  ],
  'the constructor of DistributedDataParallel': [() => {}, ddp],
  'the second forward of DistributedDataParallel': [
    () => {
      const model = ddp();
      loss(model).backward();
      return model;
    },
    loss,
  ],
  'a backward of DistributedDataParallel': [ddp, (model) => loss(model).backward()],
  'a step of ZeroRedundancyOptimizer': [
    () => new d.optim.ZeroRedundancyOptimizer(new nn.Linear(4, 4).parameters(), optim.Adam),
    (optimizer) => optimizer.step(),
  ],
};
const [together, alone] = cases[name];

async function join() {
  torch.setNumThreads(1);
  await d.initProcessGroup({ initMethod, rank, worldSize, timeoutMs: HOUR });
  return together();
}

async function terminate() {
  const worker = new Worker(new URL(import.meta.url), { workerData: process.argv.slice(2) });
  worker.on('error', (error) => {
    throw error;
  });
  await new Promise((resolve) => worker.once('message', resolve));
  const { eventLoopUtilization } = worker.performance;
  const start = eventLoopUtilization();
  while (eventLoopUtilization(start).active < BUSY_MS) await new Promise(setImmediate);
  await worker.terminate();
}

if (!isMainThread) {
  const made = await join();
  parentPort.postMessage('waits');
  await new Promise(setImmediate); // the message is sent
  alone(made);
} else {
  if (rank === 0) await terminate();
  else {
    await join();
    await assert.rejects(d.recv(torch.ones([4]), 0), lost);
  }
  console.log('done');
}
