/** The bytes of tensors on the device: exact, freed by scopes, by dispose and by collections, and the allocator's requests for these. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { Worker } from 'node:worker_threads';
import torch from 'libtorch-node';
import { check, collected, held, MIB, runAll } from './checks.mjs';

const device = 'cuda';
// libtorch keeps a workspace for products.
torch.scope(() => void torch.ones([2, 2], { device }).matmul(torch.ones([2, 2], { device })));
torch.cuda.synchronize();
const { allocatedBytes: fixed } = torch.cuda.memory(0);
const query = ['--query-gpu=memory.total', '--format=csv,noheader,nounits'];
const total = Number(execFileSync('nvidia-smi', query, { encoding: 'utf8' }).split('\n')[0]) * MIB;

check('a device is there', () => {
  assert.equal(torch.cuda.isAvailable(), true);
  assert.ok(torch.cuda.deviceCount() >= 1);
  assert.equal(torch.cuda.currentDevice(), 0);
  torch.cuda.synchronize();
  torch.cuda.synchronize('cuda:0');
});

check('bytes are exact, and a view has none of its own', () => {
  const x = torch.zeros([1 << 20], { device: 'cuda:0' });
  assert.equal(x.device, 'cuda:0');
  assert.equal(torch.cuda.memory(0).allocatedBytes, fixed + 4 * MIB);
  const { bytes, allocatedBytes } = torch.memory().devices['cuda:0'];
  assert.deepEqual({ bytes, allocatedBytes }, { bytes: 4 * MIB, allocatedBytes: fixed + 4 * MIB });
  const view = x.slice(0, 0, 4);
  assert.equal(held(), 4 * MIB);
  x.dispose();
  assert.equal(held(), 4 * MIB);
  view.dispose();
  assert.equal(held(), 0);
  assert.equal(torch.cuda.memory(0).allocatedBytes, fixed);
  assert.throws(() => torch.cuda.memory(torch.cuda.deviceCount()), { code: 'ERR_TORCH_ARGUMENT' });
  torch.cuda.emptyCache();
  assert.ok(torch.cuda.memory(0).reservedBytes <= fixed + 2 * MIB);
});

check('V8 is told of them', () => {
  const before = process.memoryUsage().external;
  const x = torch.zeros([64 * MIB], { device, dtype: 'uint8' });
  const rise = process.memoryUsage().external - before;
  assert.ok(rise > 50 * MIB && rise < 70 * MIB, `external memory rose by ${rise} bytes`);
  x.dispose();
});

check('a scope frees what it does not return', async () => {
  const kept = torch.scope(() => torch.ones([1000, 1000], { device }).mul(2).sum({ dim: 0 }));
  assert.equal(held(), 4000);
  const later = await torch.scope(async () => {
    const a = torch.ones([1000, 1000], { device });
    await new Promise((resolve) => setImmediate(resolve));
    return a.matmul(a).sum();
  });
  assert.equal(later.item(), 1e9);
  assert.equal(held(), 4004);
  kept.dispose();
  later.dispose();
  assert.equal(held(), 0);
});

check('a synchronous loop that drops 64 GiB keeps less than 2 GiB reserved', async () => {
  for (let i = 0; i < 4096; i++) torch.empty([1 << 22], { device });
  const { peakReservedBytes } = torch.cuda.memory();
  console.log(`  reserved at most: ${peakReservedBytes / MIB} MiB`);
  assert.ok(peakReservedBytes < 2 ** 31);
  await collected(() => torch.memory().tensors === 0);
});

check('garbage makes room for a tensor that would not fit', async () => {
  const third = Math.floor(total / 3);
  (() => {
    for (let i = 0; i < 2; i++) torch.empty([third], { device, dtype: 'uint8' });
  })();
  const x = torch.empty([third * 2], { device, dtype: 'uint8' });
  assert.equal(x.numel, third * 2);
  x.dispose();
  await collected(() => torch.memory().tensors === 0);
  torch.cuda.emptyCache();
});

check('a full device is an error with a code, and nothing is left', () => {
  const x = torch.ones([10], { device });
  assert.throws(
    () => torch.empty([total * 2], { device, dtype: 'uint8' }),
    (error) => {
      console.log(`  ${error.message.split('\n').join('\n  ')}`);
      assert.equal(error.code, 'ERR_TORCH_OUT_OF_MEMORY');
      return true;
    },
  );
  assert.throws(
    () =>
      torch
        .ones([2 ** 22], { device })
        .view([-1, 1])
        .mul(torch.ones([2 ** 22], { device })),
    {
      code: 'ERR_TORCH_OUT_OF_MEMORY',
    },
  );
  assert.equal(
    torch.scope(() => x.sum().item()),
    10,
  );
  x.dispose();
});

check('tensors of a worker are freed when it ends', async () => {
  await collected(() => torch.memory().tensors === 0);
  const program = `
    const torch = require('libtorch-node');
    const kept = Array.from({ length: 8 }, () => torch.ones([1 << 20], { device: 'cuda' }));
    require('node:worker_threads').parentPort.postMessage(kept.length);
    setInterval(() => kept, 1000);`;
  const worker = new Worker(program, { eval: true });
  await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  assert.equal(held(), 32 * MIB);
  await worker.terminate();
  assert.equal(held(), 0);
});

check('a tensor that is shared with a worker is not copied', async () => {
  const x = torch.zeros([1 << 20], { device });
  const program = `
    const torch = require('libtorch-node');
    const { parentPort, workerData } = require('node:worker_threads');
    const x = torch.fromShared(workerData);
    x.add_(1);
    torch.cuda.synchronize();
    x.dispose();
    parentPort.postMessage(torch.memory().bytes);`;
  const token = x.share(); // keeps the tensor while a thread can take it
  const worker = new Worker(program, { eval: true, workerData: token });
  const bytes = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  await worker.terminate();
  assert.equal(
    torch.scope(() => x.sum().item()),
    1 << 20,
  );
  assert.equal(held(), 4 * MIB);
  assert.equal(bytes, 4 * MIB);
  x.dispose();
  token.dispose();
});

check('resize and set_ change the bytes', () => {
  const x = torch.zeros([MIB], { device, dtype: 'uint8' });
  x.resize_([4 * MIB]);
  assert.equal(held(), 4 * MIB);
  x.dispose();
  assert.equal(held(), 0);
});

check('nothing is left', async () => {
  await collected(() => torch.memory().tensors === 0);
  assert.equal(torch.cuda.memory(0).allocatedBytes, fixed);
});

await runAll('memory');
