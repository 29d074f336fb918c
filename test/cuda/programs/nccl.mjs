/** NCCL on one device: the only rank, its collectives and DDP; what is refused; two ranks on the same device. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import torch from 'libtorch-node';
import { check, collected, held, runAll } from './checks.mjs';

const d = torch.distributed;
const device = 'cuda';
const folder = mkdtempSync(path.join(os.tmpdir(), 'nccl-'));
const [, , role, meeting] = process.argv;

if (role !== undefined) {
  await d.initProcessGroup({
    backend: 'nccl',
    initMethod: `file://${meeting}`,
    rank: Number(role),
    worldSize: 2,
    timeoutMs: 20_000,
  });
  try {
    await d.allReduce(torch.ones([4], { device }));
    console.log('reduced');
  } catch (error) {
    console.log(`${error.code}: ${error.message.split('\n')[0]}`);
  }
  await d.destroyProcessGroup();
  process.exit(0);
}

check('the only rank: collectives', async () => {
  await d.initProcessGroup({ backend: 'nccl', initMethod: `file://${folder}/alone`, rank: 0, worldSize: 1 });
  assert.equal(d.getBackend(), 'nccl');
  for (const dtype of ['float16', 'bfloat16', 'float32', 'float64', 'int8', 'uint8', 'int32', 'int64']) {
    const x = torch.full([1000], 3, { device, dtype });
    await d.allReduce(x);
    assert.equal(x.to('float64').sum().item(), 3000);
    await d.broadcast(x, 0);
    const out = torch.zeros([1000], { device, dtype });
    await d.allGather([out], x);
    assert.ok(torch.equal(out, x));
    await d.allGatherIntoTensor(out.zero_(), x);
    assert.ok(torch.equal(out, x));
    await d.reduceScatter(out.zero_(), [x]);
    assert.ok(torch.equal(out, x));
    await d.reduce(x, 0);
  }
  await d.barrier();
});

check('a tensor on the CPU is refused', async () => {
  await assert.rejects(d.allReduce(torch.ones([2])), { code: 'ERR_TORCH_ARGUMENT' });
});

check('DistributedDataParallel', async () => {
  torch.manualSeed(0);
  const model = new torch.nn.parallel.DistributedDataParallel(new torch.nn.Linear(16, 4).to(device));
  const optimizer = new torch.optim.SGD(model.parameters(), { lr: 0.1 });
  const losses = [];
  for (let step = 0; step < 20; step++) {
    torch.scope(() => {
      optimizer.zeroGrad();
      torch.manualSeed(1);
      const loss = model
        .forward(torch.randn([32, 16], { device }))
        .square()
        .mean();
      loss.backward();
      optimizer.step();
      losses.push(loss.item());
    });
  }
  assert.ok(losses.at(-1) < losses[0] / 2);
  model.dispose?.();
});

check('the group ends', async () => {
  await d.destroyProcessGroup();
});

check('two ranks on one device', async () => {
  const file = path.join(folder, 'two');
  const ended = await Promise.all(
    ['0', '1'].map(
      (rank) =>
        new Promise((resolve) => {
          const child = spawn(process.execPath, [process.argv[1], rank, file], { stdio: ['ignore', 'pipe', 'pipe'] });
          let [stdout, stderr] = ['', ''];
          child.stdout.on('data', (text) => (stdout += text));
          child.stderr.on('data', (text) => (stderr += text));
          const timer = setTimeout(() => child.kill('SIGKILL'), 60_000);
          child.on('close', (status, signal) => {
            clearTimeout(timer);
            resolve({ status, signal, stdout, stderr });
          });
        }),
    ),
  );
  for (const { status, signal, stdout, stderr } of ended) {
    console.log(`  ${status} ${signal} ${stdout.trim()}\n  ${stderr.trim().split('\n').slice(-4).join('\n  ')}`);
  }
  for (const { status, stdout } of ended) {
    assert.equal(status, 0);
    assert.match(stdout, /^ERR_TORCH_DISTRIBUTED/);
  }
});

check('nothing is left', async () => {
  await collected(() => held() === 0);
});

await runAll('nccl');
rmSync(folder, { recursive: true });
