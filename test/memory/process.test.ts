/** The ends of worker threads, of the process, and of borrowed arrays. In child processes. */
import { ask, program } from '../support/child';
import { LIB } from '../support/torch';

const WORKER = `
  const { Worker } = require('node:worker_threads');
  const inWorker = (source) => new Promise((resolve, reject) => {
    const worker = new Worker('const torch = require(${JSON.stringify(`${LIB}/index.js`)}); ' + source, { eval: true });
    worker.on('error', reject);
    worker.on('exit', resolve);
  });
`;

test('a worker thread that ends frees all its tensors', async () => {
  const { before, during, after } = await ask(`${WORKER}
    const mine = torch.ones([10]);
    const before = counts();
    const { MessageChannel } = require('node:worker_threads');
    const worker = new Worker(\`
      const torch = require(${JSON.stringify(`${LIB}/index.js`)});
      global.held = [torch.ones([1000]), torch.fromTypedArray(new Float32Array(10)), new torch.Generator()];
      torch.openScope();
      held.push(torch.ones([500]), torch.ones([4]).toSparse());
      require('node:worker_threads').parentPort.on('message', () => process.exit(0)).postMessage('made');
    \`, { eval: true });
    let during;
    worker.on('message', () => { during = counts(); worker.postMessage('end'); });
    worker.on('exit', () => answer({ before, during, after: counts() }));
  `);
  expect(during.tensors).toBeGreaterThanOrEqual(before.tensors + 4);
  expect(during.bytes).toBeGreaterThanOrEqual(before.bytes + 6000);
  expect(after).toEqual(before);
});

test('twenty workers, some terminated during work, leak nothing', async () => {
  const { before, after } = await ask(`${WORKER}
    (async () => {
      const before = counts();
      for (let i = 0; i < 5; i++) {
        const work = 'global.held = []; for (let i = 0; i < 500; i++) held.push(torch.ones([100]).add(1));';
        await Promise.all([inWorker(work), inWorker('throw 1').catch(() => {}), inWorker(work + 'process.exit(0)')]);
        const endless = new Worker('const torch = require(${JSON.stringify(`${LIB}/index.js`)}); for (;;) torch.ones([1000]);', { eval: true });
        await new Promise((resolve) => endless.once('online', resolve)); // Node 22 reports an error if it is terminated earlier
        await new Promise((resolve) => setTimeout(resolve, 300));
        await endless.terminate();
      }
      answer({ before, after: counts() });
    })();
  `);
  expect(after).toEqual(before);
});

test.each([
  ['with live tensors', 'global.held = [torch.ones([1000]), torch.ones([5]).toSparse()];'],
  ['inside a scope', 'torch.openScope(); global.t = torch.ones([10]); process.exit(0);'],
  ['inside a scope function', 'torch.scope(() => { torch.ones([10]); process.exit(0); });'],
  ['in inference mode', 'torch.inferenceMode(() => { global.t = torch.ones([10]); process.exit(0); });'],
  ['with a graph', 'global.y = torch.ones([10], { requiresGrad: true }).mul(2).sum(); y.backward();'],
  ['with borrowed memory', 'global.t = torch.fromTypedArray(new Float32Array(1000));'],
  ['with a Generator', 'global.g = new torch.Generator(); torch.rand([2], { generator: g });'],
  ['with a pending async scope', 'torch.scope(async () => { torch.ones([3]); await new Promise(() => {}); });'],
])('the process ends cleanly %s', async (_, source) => {
  const { code, signal, stderr, stdout } = await program(source);
  expect({ code, signal, stderr, stdout }).toEqual({ code: 0, signal: null, stderr: '', stdout: '' });
});

test('an uncaught error of the library ends the process like any other, with its code', async () => {
  const { code, stderr } = await program('torch.ones([2]).add(torch.ones([3]));');
  expect(code).toBe(1);
  expect(stderr).toContain('ERR_TORCH_');
});

test('a borrowed array lives exactly as long as the tensor', async () => {
  const { alive, sum, gone } = await ask(
    `
    const pause = async () => { for (let i = 0; i < 5; i++) { gc(); await new Promise((resolve) => setTimeout(resolve, 5)); } };
    const until = async (isSo) => { while (!isSo()) await pause(); };
    (async () => {
      let freed = 0;
      const registry = new FinalizationRegistry(() => freed++);
      let t = (() => { const array = new Float32Array(1000).fill(2); registry.register(array.buffer, 1); return torch.fromTypedArray(array); })();
      await pause();
      const alive = freed === 0;
      const sum = t.sum().item();
      const view = t.slice(0, 0, 10);
      t.dispose(); t = undefined;
      await pause();
      const stillAlive = freed === 0 && view.sum().item() === 20;
      view.dispose();
      await until(() => freed > 0);
      answer({ alive: alive && stillAlive, sum, gone: freed });
    })();
  `,
    ['--expose-gc'],
  );
  expect({ alive, sum, gone }).toEqual({ alive: true, sum: 2000, gone: 1 });
});

test('an impossible allocation is an error, also in a loop, and leaks nothing', async () => {
  const { codes, before, after } = await ask(`
    const before = counts();
    const codes = new Set();
    const code = (fn) => { try { fn(); return 'none'; } catch (error) { return error.code; } };
    for (let i = 0; i < 100; i++) {
      codes.add(code(() => torch.empty([2 ** 40])));
      codes.add(code(() => torch.zeros([2 ** 20, 2 ** 20])));
      codes.add(code(() => torch.scope(() => torch.ones([1]).expand([2 ** 42]).clone())));
    }
    answer({ codes: [...codes], before, after: counts() });
  `);
  expect(codes).toEqual(['ERR_TORCH_OUT_OF_MEMORY']);
  expect(after.bytes - before.bytes).toBeLessThan(1000);
});

test('collections while errors are thrown do not crash the process', async () => {
  // Each error is thrown while young garbage with finalizers exists, so that some throws trigger a collection.
  const { errors } = await ask(
    `
    const a = torch.ones([2]), b = torch.ones([3]);
    let errors = 0;
    const failing = [() => a.add(b), () => torch.empty([2 ** 40]), () => a.view([7]), () => torch.ops.aten.add.Tensor(a, 'x')];
    for (let i = 0; i < 60000; i++) {
      a.alias();
      try { failing[i % 4](); } catch (error) { if (error.code.startsWith('ERR_TORCH_')) errors++; }
    }
    answer({ errors });
  `,
    ['--max-semi-space-size=1'],
  );
  expect(errors).toBe(60_000);
});
