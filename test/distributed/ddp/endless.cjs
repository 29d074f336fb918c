/**
 * A rank that trains again and again, each time in a new group. Each line of its stdin is one time: { round, port, resume, until }. With
 * `resume` it begins with the checkpoint, which rank 0 saves after step 4; without `until` it goes on until another rank is gone.
 * Prints what it has after step 8, and the error.
 */
'use strict';
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const { createInterface } = require('node:readline');
const torch = require(process.env.LIB);

const { nn } = torch;
const { CHECKPOINT, RANK } = process.env;
const rank = Number(RANK);
const SAVE_AT = 4;
const REPORT_AT = 8;

const say = (value) => fs.writeSync(1, `${JSON.stringify(value)}\n`);

function bits(tensors) {
  const digest = createHash('sha256');
  for (const tensor of tensors) digest.update(Buffer.from(tensor.toTypedArray().buffer));
  return digest.digest('hex');
}

async function train({ round, port, resume, until = Number.POSITIVE_INFINITY }) {
  process.env.MASTER_PORT = String(port);
  await torch.distributed.initProcessGroup({ timeoutMs: Number(process.env.TIMEOUT_MS) });
  torch.manualSeed(rank);
  const net = new nn.Sequential(new nn.Linear(12, 30), new nn.BatchNorm1d(30), new nn.ReLU(), new nn.Linear(30, 4));
  const ddp = new nn.parallel.DistributedDataParallel(net, { bucketCapMb: 0.001 });
  const optimizer = new torch.optim.Adam(ddp.parameters(), { lr: 0.01 });
  let step = 0;
  if (resume) {
    torch.scope(() => {
      const saved = torch.load(CHECKPOINT);
      ddp.loadStateDict(saved.model);
      optimizer.loadStateDict(saved.optimizer);
      step = saved.step;
    });
  }
  const first = step + 1;
  try {
    while (step < until) {
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
      step++;
      if (rank === 0 && !resume && step === SAVE_AT) {
        torch.scope(() => torch.save({ model: ddp.stateDict(), optimizer: optimizer.stateDict(), step }, CHECKPOINT));
      }
      if (step === REPORT_AT) {
        say({ round, first, step, weights: bits(net.parameters()), buffers: bits(net.buffers()) });
      }
    }
  } catch (error) {
    say({ round, code: error.code, message: error.message });
  }
  ddp.dispose();
  await torch.distributed.destroyProcessGroup();
}

async function main() {
  torch.setNumThreads(1);
  say({ ready: true });
  for await (const line of createInterface({ input: process.stdin })) await train(JSON.parse(line));
}
main();
