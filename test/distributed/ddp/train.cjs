/** One Node rank: the same cases as train.py. */
'use strict';
const { createHash } = require('node:crypto');
const torch = require(process.env.LIB);

const { nn } = torch;
const { DistributedDataParallel } = nn.parallel;
const F = nn.functional;
const STEPS = Number(process.env.STEPS);

class Net extends nn.Module {
  conv = new nn.Conv2d(1, 4, 3);
  norm = new nn.BatchNorm2d(4);
  hidden = new nn.Linear(100, 30);
  out = new nn.Linear(30, 10);
  spare = new nn.Linear(30, 10);

  forward(x, spare = false) {
    const pooled = torch.maxPool2d(torch.relu(this.norm.forward(this.conv.forward(x))), 2);
    const hidden = torch.relu(this.hidden.forward(torch.flatten(pooled, 1)));
    if (spare) return this.spare.forward(hidden);
    return this.out.forward(hidden).add(this.spare.forward(hidden).mul(0));
  }
}

/** The loss uses one of two outputs. */
class Two extends nn.Module {
  used = new nn.Linear(144, 10);
  unused = new nn.Linear(144, 3);

  forward(x) {
    const flat = torch.flatten(x, 1);
    return [this.used.forward(flat), this.unused.forward(flat)];
  }
}

function batch(generator, n = 6) {
  return [torch.randn([n, 1, 12, 12], { generator }), torch.randint(10, [n], { generator, dtype: 'int64' })];
}

function bits(tensors) {
  const digest = createHash('sha256');
  for (const tensor of tensors) {
    const array = tensor.toTypedArray();
    digest.update(Buffer.from(array.buffer, array.byteOffset, array.byteLength));
  }
  return digest.digest('hex');
}

const values = (dict) => torch.scope(() => bits(Object.values(dict)));

async function train(
  rank,
  options,
  steps,
  { module = Net, accumulate = 1, cast = false, spare = false, run = false } = {},
) {
  torch.manualSeed(10 + rank);
  const net = new module();
  const ddp = new DistributedDataParallel(net, options);
  const started = values(net.stateDict());
  const optimizer = new torch.optim.SGD(ddp.parameters(), { lr: 0.05, momentum: 0.9 });
  const generator = new torch.Generator().manualSeed(100 + rank);
  const norms = [];

  const forward = (step, [x, y]) =>
    torch.autocast({ device: 'cpu', dtype: 'bfloat16', enabled: cast }, () => {
      const made = spare && step % 2 === rank % 2 ? ddp.forward(x, true) : ddp.forward(x);
      return F.crossEntropy(Array.isArray(made) ? made[0] : made, y).div(accumulate);
    });
  /** With `run`, off the event loop. */
  const learn = (step) => {
    if (run) {
      return torch.scope(async () => {
        const given = batch(generator);
        await torch.run(() => forward(step, given).backward());
      });
    }
    return torch.scope(() => forward(step, batch(generator)).backward());
  };

  for (let step = 0; step < steps; step++) {
    optimizer.zeroGrad({ setToNone: true });
    for (let i = 1; i < accumulate; i++) await ddp.noSync(() => learn(step));
    await learn(step);
    torch.scope(() => norms.push(nn.utils.clipGradNorm_(ddp.parameters(), 1).item()));
    optimizer.step();
  }
  const keys = torch.scope(() => Object.keys(ddp.stateDict()));
  const [weights, buffers] = [bits(net.parameters()), bits(net.buffers())];
  const made = { started, keys, weights, buffers, norms: torch.scope(() => bits([torch.tensor(norms)])) };
  ddp.dispose();
  return made;
}

async function main() {
  const rank = Number(process.env.RANK);
  torch.setNumThreads(1);
  await torch.distributed.initProcessGroup({ backend: 'gloo' });
  const bucketCapMb = 0.004; // several buckets
  const findUnusedParameters = true;
  const cases = {
    plain: () => train(rank, {}, STEPS),
    buckets: () => train(rank, { bucketCapMb }, 8),
    accumulated: () => train(rank, {}, 6, { accumulate: 3 }),
    unused: () => train(rank, { findUnusedParameters, bucketCapMb }, 8, { spare: true }),
    outputs: () => train(rank, { findUnusedParameters }, 6, { module: Two }),
    static: () => train(rank, { staticGraph: true, bucketCapMb }, 8),
    views: () => train(rank, { gradientAsBucketView: true }, 8),
    autocast: () => train(rank, {}, 8, { cast: true }),
    'own buffers': () => train(rank, { broadcastBuffers: false }, 8),
    // In Node alone: the forward and backward of each step off the event loop.
    'in torch.run': () => train(rank, { bucketCapMb }, 8, { run: true }),
  };
  const names = JSON.parse(process.env.CASES ?? 'null') ?? Object.keys(cases);
  for (const name of names) console.log(JSON.stringify({ case: name, ...(await cases[name]()) }));
  await torch.distributed.destroyProcessGroup();
}
main();
