/** A rank that makes many steps, and notes its memory. */
'use strict';
const { setTimeout: sleep } = require('node:timers/promises');
const torch = require(process.env.LIB);

const { nn } = torch;
const steps = Number(process.env.STEPS);

async function main() {
  torch.setNumThreads(1);
  await torch.distributed.initProcessGroup();
  const rank = torch.distributed.getRank();
  const net = new nn.Sequential(new nn.Linear(64, 256), new nn.BatchNorm1d(256), new nn.ReLU(), new nn.Linear(256, 10));
  const options = { bucketCapMb: 0.02, gradientAsBucketView: process.env.VIEWS === '1' };
  const ddp = new nn.parallel.DistributedDataParallel(net, options);
  const optimizer = new torch.optim.SGD(ddp.parameters(), { lr: 0.01, momentum: 0.9 });
  const x = torch.randn([16, 64]);
  const y = torch.scope(() => torch.arange(16).remainder(10));
  const counts = new Set();
  const rss = [];
  for (let step = 0; step < steps; step++) {
    optimizer.zeroGrad({ setToNone: step % 2 === 0 });
    const learn = () => nn.functional.crossEntropy(ddp.forward(x), y).backward();
    if (step % 4 === 3) await torch.scope(() => torch.run(learn));
    else torch.scope(learn);
    optimizer.step();
    if (step >= 10) {
      const { tensors, storages, bytes } = torch.memory();
      counts.add(`${tensors} tensors, ${storages} storages, ${bytes} bytes`);
    }
    if (step === Math.floor(steps / 4) || step === steps - 1) rss.push(process.memoryUsage.rss());
  }
  const { allocatedBytes: before } = torch.memory();
  ddp.dispose();
  // The pool may still end the last torch.run; then the reducer is freed a moment later.
  const least = 4 * (64 * 256 + 256 * 10);
  let after = before;
  for (let i = 0; i < 600 && before - after < least; i++) {
    after = torch.memory().allocatedBytes;
    if (before - after < least) await sleep(50);
  }
  console.log(
    JSON.stringify({ rank, counts: [...counts], grownMb: (rss[1] - rss[0]) / 2 ** 20, freed: before - after }),
  );
  await torch.distributed.destroyProcessGroup();
}
main();
