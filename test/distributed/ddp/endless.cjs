/**
 * A rank that trains until a step, or until another rank is gone. Rank 0 saves a checkpoint after step SAVE_AT; with RESUME, all
 * begin with it. Prints each step, and at the end its weights or the error.
 */
'use strict';
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const torch = require(process.env.LIB);

const { nn } = torch;
const { CHECKPOINT, RANK } = process.env;
const rank = Number(RANK);
const until = Number(process.env.UNTIL ?? Number.POSITIVE_INFINITY);
const saveAt = Number(process.env.SAVE_AT ?? -1);

const say = (value) => fs.writeSync(1, `${JSON.stringify(value)}\n`);

function bits(tensors) {
  const digest = createHash('sha256');
  for (const tensor of tensors) digest.update(Buffer.from(tensor.toTypedArray().buffer));
  return digest.digest('hex');
}

async function main() {
  torch.setNumThreads(1);
  await torch.distributed.initProcessGroup({ timeoutMs: Number(process.env.TIMEOUT_MS ?? 60_000) });
  torch.manualSeed(rank);
  const net = new nn.Sequential(new nn.Linear(12, 30), new nn.BatchNorm1d(30), new nn.ReLU(), new nn.Linear(30, 4));
  const ddp = new nn.parallel.DistributedDataParallel(net, { bucketCapMb: 0.001 });
  const optimizer = new torch.optim.Adam(ddp.parameters(), { lr: 0.01 });
  let step = 0;
  if (process.env.RESUME === '1') {
    torch.scope(() => {
      const saved = torch.load(CHECKPOINT);
      ddp.loadStateDict(saved.model);
      optimizer.loadStateDict(saved.optimizer);
      step = saved.step;
    });
  }
  try {
    for (; step < until; step++) {
      const isAsync = step % 2 === 1; // each way in turn
      optimizer.zeroGrad();
      await torch.scope(async () => {
        const generator = new torch.Generator().manualSeed(1000 * rank + step);
        const x = torch.randn([8, 12], { generator });
        const y = torch.randint(4, [8], { generator, dtype: 'int64' });
        const learn = () => nn.functional.crossEntropy(ddp.forward(x), y).backward();
        if (isAsync) await torch.run(learn);
        else learn();
      });
      optimizer.step();
      say({ step: step + 1 });
      if (rank === 0 && step + 1 === saveAt) {
        torch.scope(() => {
          const state = { model: ddp.stateDict(), optimizer: optimizer.stateDict(), step: step + 1 };
          torch.save(state, CHECKPOINT);
        });
        say({ saved: step + 1 });
      }
    }
    say({ weights: bits(net.parameters()), buffers: bits(net.buffers()) });
  } catch (error) {
    say({ code: error.code, message: error.message });
  }
  ddp.dispose();
  await torch.distributed.destroyProcessGroup();
}
main();
