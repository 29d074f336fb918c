/** JavaScript in backwards on the device: hooks, Functions and checkpoints compute what they do on the CPU; anomaly detection. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import torch from 'libtorch-node';
import { check, runAll } from './checks.mjs';

const library = createRequire(import.meta.url).resolve('libtorch-node');
const program = path.join(import.meta.dirname, 'backward.cjs');

function computed(device) {
  const ran = spawnSync(process.execPath, ['--expose-gc', program, library, device], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.deepEqual({ status: ran.status, stderr: ran.stderr }, { status: 0, stderr: '' });
  return JSON.parse(ran.stdout);
}

/** The same values, numbers within their rounding. */
function close(a, b, place) {
  if (typeof a === 'number') return assert.ok(Math.abs(a - b) < 1e-5 * (1 + Math.abs(a)), `${place}: ${a} and ${b}`);
  if (a === null || typeof a !== 'object') return assert.equal(a, b, place);
  assert.deepEqual(Object.keys(a), Object.keys(b), place);
  for (const key of Object.keys(a)) close(a[key], b[key], `${place}.${key}`);
}

check('hooks, Functions and checkpoints as on the CPU', () => {
  const [cpu, cuda] = ['cpu', 'cuda'].map(computed);
  close(cpu, { ...cuda, isNew: cpu.isNew }, 'backward.cjs');
  assert.equal(cuda.isNew, true);
});

check('anomaly detection names the line of the forward call', () => {
  torch.scope(() => {
    torch.autograd.detectAnomaly(() => {
      const x = torch.zeros([1], { device: 'cuda', requiresGrad: true });
      const y = x.div(x.mul(0)).sum();
      assert.throws(
        () => y.backward(),
        /DivBackward0' returned nan values[\s\S]*forward call of DivBackward0: at [^\n]*autograd\.mjs/,
      );
    });
  });
});

check('a worker that is terminated in a hook', async () => {
  const { Worker } = await import('node:worker_threads');
  const text = `
    const torch = require('libtorch-node');
    const x = torch.ones([1], { device: 'cuda', requiresGrad: true });
    x.registerHook(() => { require('node:worker_threads').parentPort.postMessage(1); for (;;); });
    x.mul(2).backward();`;
  const worker = new Worker(text, { eval: true });
  await new Promise((resolve) => worker.once('message', resolve));
  await worker.terminate();
  const y = torch.ones([1], { device: 'cuda', requiresGrad: true });
  let calls = 0;
  y.registerHook(() => void calls++);
  y.mul(3).backward();
  assert.equal(y.grad.item(), 3);
  assert.equal(calls, 1);
  await turn();
});

await runAll('autograd');
