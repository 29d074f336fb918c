/** Training on the device: optimizers, autocast with GradScaler, checkpoints, data, TorchScript; nothing is left behind. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import torch from 'libtorch-node';
import { check, collected, held, runAll } from './checks.mjs';

const device = 'cuda';
const folder = mkdtempSync(path.join(os.tmpdir(), 'cuda-'));
const { nn } = torch;
const F = nn.functional;

const network = () =>
  new nn.Sequential(
    new nn.Conv2d(1, 8, 3, { padding: 1 }),
    new nn.BatchNorm2d(8),
    new nn.ReLU(),
    new nn.MaxPool2d(2),
    new nn.Flatten(),
    new nn.Dropout(0.1),
    new nn.Linear(8 * 16, 4),
  );

/** Bright quarters of an image: 4 classes. */
function batch(count) {
  return torch.scope(() => {
    const y = torch.randint(0, 4, [count], { device });
    const x = torch.randn([count, 1, 8, 8], { device }).mul(0.1);
    const quarter = torch.stack([y.div(2, { roundingMode: 'floor' }), y.remainder(2)], 1);
    const grid = torch.zeros([count, 1, 2, 2], { device });
    const index = quarter.select(1, 0).mul(2).add(quarter.select(1, 1)).reshape([count, 1]);
    grid.view([count, 4]).scatter_(1, index, 1);
    return [x.add(F.interpolate(grid, { scaleFactor: 4 })), y];
  });
}

function train(name, make, { amp = null } = {}) {
  check(`${name}${amp === null ? '' : `, autocast to ${amp}`}`, () => {
    torch.manualSeed(0);
    const net = network().to(device);
    const optimizer = make(net.parameters());
    const scaler = new torch.amp.GradScaler('cuda', { enabled: amp === 'float16' });
    assert.equal(scaler.isEnabled(), amp === 'float16');
    const losses = [];
    let after = 0;
    for (let step = 0; step < 60; step++) {
      torch.scope(() => {
        const [x, y] = batch(64);
        optimizer.zeroGrad();
        const forward = () => F.crossEntropy(net.forward(x), y);
        const loss = amp === null ? forward() : torch.autocast({ device, dtype: amp }, forward);
        scaler.scale(loss).backward();
        scaler.step(optimizer);
        scaler.update();
        losses.push(loss.item());
      });
      if (step === 10) after = held();
    }
    assert.equal(held(), after);
    assert.ok(losses.at(-1) < losses[0] / 3, `the loss went from ${losses[0]} to ${losses.at(-1)}`);
    scaler.dispose?.();
    optimizer.dispose?.();
    net.dispose();
  });
}

train('SGD with momentum', (p) => new torch.optim.SGD(p, { lr: 0.1, momentum: 0.9 }));
train('Adam', (p) => new torch.optim.Adam(p, { lr: 0.01 }));
train('Adam, fused', (p) => new torch.optim.Adam(p, { lr: 0.01, fused: true }));
train('AdamW, foreach', (p) => new torch.optim.AdamW(p, { lr: 0.01, foreach: true }));
train('Adam, capturable', (p) => new torch.optim.Adam(p, { lr: 0.01, capturable: true }));
train('SGD', (p) => new torch.optim.SGD(p, { lr: 0.1, momentum: 0.9 }), { amp: 'float16' });
train('Adam', (p) => new torch.optim.Adam(p, { lr: 0.01 }), { amp: 'bfloat16' });

check('a state dict is saved and loaded, on the device and on the CPU', async () => {
  const file = path.join(folder, 'net.pt');
  const net = network().to(device);
  await torch.save(net.stateDict(), file);
  const onDevice = await torch.load(file, { device });
  assert.equal(onDevice['0.weight'].device, 'cuda:0');
  const onCpu = await torch.load(file, { device: 'cpu' });
  assert.equal(onCpu['0.weight'].device, 'cpu');
  assert.ok(torch.equal(onDevice['0.weight'].cpu(), onCpu['0.weight']));
  const other = network();
  other.loadStateDict(onDevice);
  other.to(device).loadStateDict(onCpu);
  assert.equal(other.parameters()[0].device, 'cuda:0');
  net.cpu();
  assert.equal(net.parameters()[0].device, 'cpu');
  net.cuda();
  assert.equal(net.parameters()[0].device, 'cuda:0');
  net.half();
  torch.scope(() =>
    assert.equal(net.eval().forward(torch.zeros([1, 1, 8, 8], { device, dtype: 'float16' })).dtype, 'float16'),
  );
});

check("Python's checkpoint and script", async () => {
  const made = path.join(folder, 'python');
  mkdirSync(made);
  execFileSync('python3', [path.join(import.meta.dirname, 'python.py'), made]);
  const state = await torch.load(path.join(made, 'state.pt'), { device });
  assert.equal(state.weight.device, 'cuda:0');
  const script = torch.jit.load(path.join(made, 'script.pt'), { device: 'cuda' });
  const expected = await torch.load(path.join(made, 'expected.pt'), { device });
  torch.scope(() => {
    const y = script.forward(expected.x);
    assert.equal(y.device, 'cuda:0');
    assert.ok(torch.allclose(y, expected.y, { rtol: 1e-4, atol: 1e-4 }));
    const frozen = torch.jit.freeze(script.eval());
    assert.ok(torch.allclose(frozen.forward(expected.x), expected.y, { rtol: 1e-4, atol: 1e-4 }));
  });
  torch.scope(() => {
    torch.manualSeed(5);
    const random = torch.randn([8], { device });
    assert.deepEqual(random.toArray(), expected.random.toArray());
  });
  const { losses } = await torch.load(path.join(made, 'steps.pt'));
  const net = new nn.Sequential(new nn.Linear(16, 32), new nn.Tanh(), new nn.Linear(32, 4)).to(device);
  net.loadStateDict(await torch.load(path.join(made, 'initial.pt')));
  const optimizer = new torch.optim.Adam(net.parameters(), { lr: 0.01 });
  const found = [];
  for (let step = 0; step < 20; step++) {
    torch.scope(() => {
      optimizer.zeroGrad();
      const loss = F.mseLoss(net.forward(expected.inputs), expected.targets);
      loss.backward();
      optimizer.step();
      found.push(loss.item());
    });
  }
  assert.deepEqual(found, losses.toArray());
});

check('a DataLoader with batches on the device', async () => {
  const { TensorDataset, DataLoader } = torch.utils.data;
  const data = new TensorDataset(torch.arange(100, { device }), torch.arange(100, { device }));
  let sum = 0;
  for await (const [x] of new DataLoader(data, { batchSize: 16, shuffle: true })) {
    sum += x.sum().item();
    assert.equal(x.device, 'cuda:0');
  }
  assert.equal(sum, 4950);
});

check('nothing is left', async () => {
  await collected(() => held() === 0);
});

await runAll('training');
rmSync(folder, { recursive: true });
