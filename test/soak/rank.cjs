/** One rank of ranks.cjs, which names its place in the environment. Prints what it held, as JSON. */
'use strict';

const { monitorEventLoopDelay } = require('node:perf_hooks');
const torch = require(process.env.LIB);

const { nn, distributed: d } = torch;
const [rank, worldSize, steps, reduces] = ['RANK', 'WORLD_SIZE', 'STEPS', 'REDUCES'].map((name) =>
  Number(process.env[name]),
);
const initMethod = process.env.STORE;
/** Steps before the first count, in which caches and the state of the optimizer are made. */
const WARM_UP = Math.min(10, steps - 1);
const IDLE_MS = 2000;
/** A fault for the test of this program: what a step leaves behind. */
const leaked = [];

async function train() {
  const net = new nn.Sequential(new nn.Linear(64, 256), new nn.BatchNorm1d(256), new nn.ReLU(), new nn.Linear(256, 10));
  const options = { bucketCapMb: 0.02, gradientAsBucketView: process.env.VIEWS === '1' };
  const ddp = new nn.parallel.DistributedDataParallel(net, options);
  const optimizer = new torch.optim.SGD(ddp.parameters(), { lr: 0.01, momentum: 0.9 });
  const x = torch.randn([16, 64]);
  const y = torch.scope(() => torch.arange(16).remainder(10));
  const held = new Set();
  const resident = [];
  for (let step = 0; step < steps; step++) {
    optimizer.zeroGrad({ setToNone: step % 2 === 0 });
    const learn = () => nn.functional.crossEntropy(ddp.forward(x), y).backward();
    if (step % 4 === 3) await torch.scope(() => torch.run(learn));
    else torch.scope(learn);
    optimizer.step();
    if (process.env.PLANT === 'leak' && rank === 1) leaked.push(x.sum());
    if (step >= WARM_UP) {
      const { tensors, storages, bytes } = torch.memory();
      held.add(`${tensors} tensors, ${storages} storages, ${bytes} bytes`);
    }
    const isCounted = step === Math.floor(steps / 4) || step === steps - 1;
    if (isCounted) resident.push(Math.round(process.memoryUsage.rss() / 2 ** 20));
  }
  ddp.dispose();
  return { held: [...held], resident: [resident[0], resident.at(-1)] };
}

/** The 99th percentile of the event loop's delay while `work` runs, in ms. */
async function delayOf(work) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await work();
  delay.disable();
  return Math.round(delay.percentile(99) / 1e5) / 10;
}

async function main() {
  torch.setNumThreads(1);
  await d.initProcessGroup({ initMethod, rank, worldSize });
  const trained = await train();
  const big = torch.ones([4 * 2 ** 20]);
  await d.barrier();
  const idle = await delayOf(() => new Promise((resolve) => setTimeout(resolve, IDLE_MS)));
  await d.barrier();
  const reducing = await delayOf(async () => {
    for (let i = 0; i < reduces; i++) await d.allReduce(big, { op: 'max' });
  });
  console.log(JSON.stringify({ ...trained, idle, reducing }));
  await d.destroyProcessGroup();
}

main();
