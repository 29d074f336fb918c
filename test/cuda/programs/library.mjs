/** What this library adds to libtorch, with tensors on the device: files, data, optimizers, modules, threads, errors. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import torch from 'libtorch-node';
import { check, collected, held, MIB, runAll } from './checks.mjs';

const device = process.env.LTN_TEST_DEVICE ?? 'cuda';
const isDevice = device !== 'cpu';
const name = isDevice ? 'cuda:0' : 'cpu';
const folder = mkdtempSync(path.join(os.tmpdir(), 'cuda-library-'));
const at = (file) => path.join(folder, file);
const { nn } = torch;
const F = nn.functional;

/** What is thrown, and that nothing is left of the call. */
async function refused(call, pattern = /cuda|device/i) {
  const before = torch.memory();
  let error;
  try {
    await call();
  } catch (caught) {
    error = caught;
  }
  if (error === undefined && !isDevice) return;
  assert.ok(error !== undefined, `expected an error, got none: ${call}`);
  assert.match(String(error.code), /^ERR_TORCH_/, `${call}: ${error.stack}`);
  if (isDevice) assert.match(error.message, pattern, `${call}`);
  const after = torch.memory();
  assert.equal(after.tensors, before.tensors, `${call} left tensors`);
  assert.equal(after.devices['cuda:0']?.bytes ?? 0, before.devices['cuda:0']?.bytes ?? 0, `${call} left bytes`);
}

check('files: torch.save, safetensors, npz, npy', async () => {
  const x = torch.randn([5, 3], { device });
  const whole = { x, view: x.t(), half: x.half(), deep: [x.select(0, 1)] };
  await torch.save(whole, at('a.pt'));
  const back = await torch.load(at('a.pt'));
  assert.equal(back.x.device, name);
  assert.ok(torch.equal(back.view, whole.view) && torch.equal(back.deep[0], whole.deep[0]));
  const moved = await torch.load(at('a.pt'), { device: 'cpu' });
  assert.equal(moved.half.device, 'cpu');
  await torch.safetensors.save({ x, half: whole.half }, at('a.safetensors'));
  const tensors = await torch.safetensors.load(at('a.safetensors'), { device });
  assert.equal(tensors.x.device, name);
  assert.ok(torch.equal(tensors.x, x) && torch.equal(tensors.half, whole.half));
  await torch.npz.save({ x }, at('a.npz'));
  const archive = await torch.npz.load(at('a.npz'));
  assert.ok(torch.equal(archive.x, x.cpu()));
  for (const value of [whole, back, moved, tensors, archive]) torch.disposeAll(value);
});

check('text, inspect, arrays and JSON', async () => {
  torch.scope(() => {
    const x = torch.tensor([[1, 2]], { device });
    if (isDevice) assert.match(String(x), /device='cuda:0'/);
    assert.deepEqual(x.toArray(), [[1, 2]]);
    assert.deepEqual(JSON.parse(JSON.stringify(x.toArray())), [[1, 2]]);
    assert.deepEqual(
      [...x.select(0, 0)].map((one) => one.item()),
      [1, 2],
    );
    const big = torch.arange(100_000, { device });
    assert.ok(String(big).length < 2000);
  });
});

check('tensors of data, on the device at once', async () => {
  torch.scope(() => {
    const x = torch.tensor(new Float32Array([1, 2, 3]), { device });
    const y = torch.tensor([1n, 2n], { device, dtype: 'int32' });
    const z = torch.tensor(2.5, { device, requiresGrad: true });
    for (const one of [x, y, z]) assert.equal(one.device, name);
    z.mul(2).backward();
    assert.equal(z.grad.device, name);
    x.copy_(torch.tensor([4, 5, 6]), true);
    assert.deepEqual(x.toArray(), [4, 5, 6]);
    assert.equal(x.add(torch.tensor(1)).device, name); // of no dimension, from the CPU
    assert.deepEqual(x.index([torch.tensor([2, 0], { dtype: 'int64' })]).toArray(), [6, 4]);
  });
});

check('each optimizer: ten steps as on the CPU', async () => {
  const names = Object.keys(torch.optim).filter(
    (one) => /^[A-Z]/.test(one) && !['Optimizer', 'SparseAdam', 'LBFGS'].includes(one),
  );
  assert.ok(names.length >= 13);
  for (const one of names) {
    torch.scope(() => {
      const start = torch.randn([4, 3]);
      const targets = torch.randn([4, 3]);
      const finish = (where) => {
        const parameter = start.clone().to(where).requiresGrad_();
        const optimizer = new torch.optim[one]([parameter], { lr: 0.01 });
        const wanted = targets.to(where);
        for (let step = 0; step < 10; step++) {
          torch.scope(() => {
            optimizer.zeroGrad();
            F.mseLoss(parameter, wanted).backward();
            optimizer.step();
          });
        }
        const result = parameter.detach().cpu().clone();
        optimizer.dispose?.();
        return result;
      };
      const [a, b] = [finish('cpu'), finish(device)];
      assert.ok(torch.allclose(a, b, { rtol: 1e-3, atol: 1e-5 }), `${one}: expected ${a}, got ${b}`);
    });
  }
});

check('a module moves after its optimizer was made', async () => {
  const net = new nn.Linear(3, 2);
  const optimizer = new torch.optim.Adam(net.parameters(), { lr: 0.1 });
  const step = (where) =>
    torch.scope(() => {
      optimizer.zeroGrad();
      net
        .forward(torch.ones([4, 3], { device: where }))
        .sum()
        .backward();
      optimizer.step();
    });
  step('cpu');
  net.to(device);
  await refused(() => step(device)); // the state is on the CPU
  optimizer.zeroGrad();
  optimizer.loadStateDict(optimizer.stateDict());
  step(device);
  assert.equal(net.weight.grad.device, name);
  net.to('cpu');
  assert.equal(net.weight.grad.device, 'cpu');
  net.dispose();
  optimizer.dispose?.();
});

check('clipping, vectors, averages', async () => {
  const net = new nn.Sequential(new nn.Linear(3, 4), new nn.BatchNorm1d(4), new nn.Linear(4, 1)).to(device);
  torch.scope(() => {
    net
      .forward(torch.randn([8, 3], { device }))
      .sum()
      .backward();
    const norm = nn.utils.clipGradNorm_(net.parameters(), 0.5);
    assert.equal(norm.device, name);
    nn.utils.clipGradValue_(net.parameters(), 0.1);
    const vector = nn.utils.parametersToVector(net.parameters());
    assert.equal(vector.device, name);
    nn.utils.vectorToParameters(vector.mul(2), net.parameters());
    const average = new torch.optim.swaUtils.AveragedModel(net);
    average.updateParameters(net);
    average.updateParameters(net);
    assert.equal(average.forward(torch.randn([8, 3], { device })).device, name);
    average.dispose();
  });
  await refused(() => nn.utils.parametersToVector([torch.zeros([2], { device }), torch.zeros([2])]), /device/);
  net.dispose();
});

check('calls that mix devices are errors that leave nothing', async () => {
  const x = torch.randn([3, 3], { device });
  const c = torch.randn([3, 3]);
  const ids = torch.tensor([0, 1], { dtype: 'int64' });
  const calls = [
    () => x.add(c),
    () => x.matmul(c),
    () => torch.cat([x, c]),
    () => torch.stack([c, x]),
    () => torch.where(x.gt(0), x, c),
    () => F.linear(x, c),
    () => F.conv1d(x.reshape([1, 3, 3]), c.reshape([3, 3, 1])),
    () => F.embedding(ids, x),
    () => F.layerNorm(x, [3], c.select(0, 0)),
    () => F.crossEntropy(x, torch.tensor([0, 1, 2], { dtype: 'int64' })),
    () => torch.equal(x, c),
    () => x.gather(0, torch.zeros([3, 3], { dtype: 'int64' })),
    () => torch.einsum('ij,jk->ik', [x, c]),
    () => torch.randn([2], { device, generator: new torch.Generator() }),
    () => x.index([ids.to(device), ids]).add(c),
    () => torch.async.add(x, c),
    () => torch.run(() => x.add(c).mul(2)),
    () => torch.capture((a, b) => a.add(b))(x, c),
    () => new nn.Linear(3, 3).forward(x),
    () => new nn.LSTM(3, 3).forward(x),
    () => new nn.MultiheadAttention(3, 1).forward(x, x, x),
  ];
  for (const call of calls) await refused(() => torch.scope(() => call()));
  x.dispose();
  c.dispose();
  ids.dispose();
});

check('a full device is an error in a torch.async, a torch.run, a capture and a backward', async () => {
  if (!isDevice) return;
  const huge = [1 << 20, 1 << 20];
  const x = torch.ones([1], { device, requiresGrad: true });
  const calls = [
    () => torch.async.zeros(huge, { device }),
    () => torch.run(() => torch.zeros(huge, { device }).add(1)),
    () => torch.capture((a) => a.detach().expand(huge).contiguous())(x),
    () => torch.autograd.checkpoint?.((a) => a.expand(huge).contiguous(), x),
    () => x.expand(huge).mul(2),
    () => torch.zeros([2], { device }).resize_(huge),
  ];
  for (const call of calls) await refused(() => torch.scope(() => call()), /memory/i);
  x.dispose();
});

check('a DataLoader whose workers make tensors on the device', async () => {
  const { DataLoader, TensorDataset } = torch.utils.data;
  const data = new TensorDataset(torch.arange(64, { device }), torch.arange(64, { device }));
  let sum = 0;
  for await (const [x, y] of new DataLoader(data, { batchSize: 8 })) {
    sum += x.add(y).sum().item();
    torch.disposeAll([x, y]);
  }
  assert.equal(sum, 64 * 63);
  torch.disposeAll(data.tensors);
});

check('four workers at once, one of which is terminated in the middle', async () => {
  const source = `
    const torch = require(${JSON.stringify(import.meta.resolve('libtorch-node').replace('file://', ''))});
    const { parentPort, workerData } = require('node:worker_threads');
    const x = torch.ones([256, 256], { device: ${JSON.stringify(device)} });
    for (let i = 0; i < (workerData === 0 ? 1e9 : 300); i++) {
      torch.scope(() => x.matmul(x).relu().sum().item());
      if (i === 20) parentPort.postMessage('running');
    }
    parentPort.postMessage('done');`;
  const workers = Array.from({ length: 4 }, (_, workerData) => new Worker(source, { eval: true, workerData }));
  const messages = workers.map((worker) => {
    const got = [];
    worker.on('message', (text) => got.push(text));
    return got;
  });
  const ends = workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
  await new Promise((resolve) => workers[0].once('message', resolve));
  await workers[0].terminate();
  await Promise.all(ends);
  for (const got of messages.slice(1)) assert.deepEqual(got, ['running', 'done']);
  await collected(() => held() === 0);
});

check('sparse and complex values, sorting, fft, linalg', async () => {
  torch.scope(() => {
    const x = torch.randn([6, 6]);
    const on = x.to(device);
    const both = (fn, tolerance = { rtol: 1e-3, atol: 1e-3 }) => {
      const [a, b] = [fn(x), fn(on)];
      assert.equal(b.device, name);
      assert.ok(torch.allclose(a, b.cpu(), tolerance), `${fn}: expected ${a}, got ${b}`);
    };
    both((a) => a.relu().toSparse().toDense());
    both((a) => a.relu().toSparse().matmul(a));
    both((a) => a.relu().toSparseCsr().matmul(a));
    both((a) => torch.fft.fft(a).abs());
    both((a) => torch.fft.irfft(torch.fft.rfft(a)));
    both((a) => torch.linalg.inv(a.matmul(a.t()).add(torch.eye(6, { device: a.device }))));
    both((a) => torch.linalg.svdvals(a));
    both((a) => torch.linalg.det(a));
    both((a) => torch.linalg.solve(a.matmul(a.t()).add(torch.eye(6, { device: a.device })), a));
    both((a) => a.sort(1)[0]);
    both((a) => a.topk(3, 1)[0]);
    both((a) => a.cumsum(0));
    both((a) => torch.imag(torch.complex(a, a.mul(2)).mul(torch.complex(a, a))));
    both((a) => F.interpolate(a.reshape([1, 1, 6, 6]), { scaleFactor: 2, mode: 'bilinear' }));
    both((a) => a.unique());
  });
});

check('forgotten tensors are collected before the device holds 3 GB of them', async () => {
  for (let i = 0; i < 20_000; i++) torch.zeros([1024, 64], { device });
  if (isDevice)
    assert.ok(torch.cuda.memory().peakReservedBytes < 3000 * MIB, `${torch.cuda.memory().peakReservedBytes}`);
  await collected(() => torch.memory().tensors === 0);
});

await runAll('library');
rmSync(folder, { recursive: true });
