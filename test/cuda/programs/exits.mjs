/** How a process with tensors on the device ends, and what an index outside of a tensor does to it. Each in a process of its own. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { check, runAll } from './checks.mjs';

const start = `
  const torch = require('libtorch-node');
  const kept = [torch.ones([1000, 1000], { device: 'cuda' })];
  const leaf = torch.ones([10], { device: 'cuda', requiresGrad: true });
  kept.push(leaf, leaf.sin().sum());`;
const programs = {
  'ends by itself': ['', { status: 0 }],
  'process.exit': ['process.exit(3);', { status: 3 }],
  'exit during work': [
    'for (let i = 0; i < 100; i++) kept.push(kept[0].matmul(kept[0])); process.exit(0);',
    { status: 0 },
  ],
  'after backward': ['kept[2].backward(); torch.cuda.synchronize();', { status: 0 }],
  'with pending async work': ['torch.async.matmul(kept[0], kept[0]); process.exit(0);', { status: 0 }],
  'with a worker': [
    `const { Worker } = require('node:worker_threads');
     new Worker("const torch = require('libtorch-node'); const x = torch.ones([1000], { device: 'cuda' }); require('node:worker_threads').parentPort.postMessage(x.sum().item()); setInterval(() => x, 100);", { eval: true })
       .once('message', () => process.exit(0));`,
    { status: 0 },
  ],
  'with memory of a global': ['globalThis.x = kept; torch.onFree?.(() => {});', { status: 0 }],
};
for (const [title, [program, { status }]] of Object.entries(programs)) {
  check(title, () => {
    const ran = spawnSync(process.execPath, ['-e', start + program], { encoding: 'utf8', timeout: 60_000 });
    assert.deepEqual(
      { status: ran.status, signal: ran.signal, stderr: ran.stderr },
      { status, signal: null, stderr: '' },
    );
  });
}

check('an index outside is an error, and so is each later use of the device', () => {
  const program = `
    const torch = require('libtorch-node');
    const x = torch.ones([4], { device: 'cuda' });
    const i = torch.tensor([7], { device: 'cuda', dtype: 'int64' });
    for (const call of [() => x.indexSelect(0, i).sum().item(), () => x.add(1).sum().item(), () => torch.cuda.synchronize()]) {
      try { call(); console.log('no error'); } catch (error) { console.log(error.code + ': ' + error.message.split('\\n')[0]); }
    }
    console.log(torch.ones([3]).sum().item());`;
  const ran = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8', timeout: 60_000 });
  console.log(
    `  ${ran.stdout.trim().split('\n').join('\n  ')}\n  stderr: ${ran.stderr.trim().split('\n').slice(-6).join('\n  ')}`,
  );
  assert.deepEqual({ status: ran.status, signal: ran.signal }, { status: 0, signal: null });
  assert.match(ran.stdout, /\n3\n$/);
});

await runAll('exits');
