/** Programs that end or fail while scopes are open. */
import { ask, program } from '../support/child';
import { LIB } from '../support/torch';

test('process.exit inside scopes, synchronous and not, with its own status', async () => {
  for (const source of [
    'torch.scope(() => { torch.ones([1000]); torch.scope(() => { torch.ones([5]); process.exit(7); }); });',
    'torch.scope(async () => { torch.ones([1000]); await null; torch.ones([5]); process.exit(7); });',
    "torch.openScope(); torch.ones([5]); process.on('exit', () => { torch.ones([6]).add(1); }); process.exit(7);",
    "process.on('exit', () => { const s = torch.openScope(); torch.ones([6]); torch.scope(() => process.exit(7)); });",
    // At that time ops run on other threads, and more are waiting.
    'for (let i = 0; i < 20; i++) torch.async.mm(torch.ones([300, 300]), torch.ones([300, 300])); setTimeout(() => process.exit(7), 5);',
    'torch.run((t) => { let x = t.ones([300, 300]); for (let i = 0; i < 99; i++) x = t.mm(x, x); return x; }); process.exit(7);',
    'torch.TensorLogger.start({ frequency: 1 }); torch.scope(() => { torch.ones([5]); process.exit(7); });',
  ]) {
    const { code, signal, stderr } = await program(source);
    expect({ source, code, signal, stderr }).toEqual({ source, code: 7, signal: null, stderr: '' });
  }
}, 150_000); // seven programs

test('process.exit in a worker inside a scope ends only the worker, and frees its tensors', async () => {
  const { status, left } = await ask(`
    const { Worker } = require('worker_threads');
    const worker = new Worker(\`const torch = require(${JSON.stringify(`${LIB}/index.js`)});
      torch.scope(() => { torch.ones([1000]); process.exit(3); });\`, { eval: true });
    worker.on('exit', (status) => answer({ status, left: counts() }));
  `);
  expect({ status, left }).toEqual({ status: 3, left: { tensors: 0, storages: 0, bytes: 0 } });
});

test('an uncaught exception while scopes are open: they close, and the program continues', async () => {
  const seen = await ask(`
    const seen = [];
    process.on('uncaughtException', (error) => seen.push(error.message));
    setImmediate(() => torch.scope(() => { torch.ones([10]); torch.scope(() => { torch.ones([10]); throw new Error('first'); }); }));
    setImmediate(() => { const inner = torch.openScope(); torch.ones([10]); inner.close(); throw new Error('second'); });
    setImmediate(() => torch.scope(async () => { torch.ones([10]); await null; throw new Error('third'); }).catch((error) => seen.push(error.message)));
    // Immediates run in the order in which they are set, timers when they are due.
    const end = () => seen.length < 3 ? setImmediate(end)
      : answer({ seen, counts: counts(), works: torch.scope(() => torch.ones([2]).sum().item()) });
    setImmediate(end);
  `);
  expect(seen).toEqual({
    seen: ['first', 'second', 'third'],
    counts: { tensors: 0, storages: 0, bytes: 0 },
    works: 2,
  });
});

test('a scope left open by an exception is closed by its parent', async () => {
  const left = await ask(`
    try { torch.scope(() => { torch.openScope(); torch.ones([10]); throw new Error('inside'); }); } catch {}
    answer(counts());
  `);
  expect(left).toEqual({ tensors: 0, storages: 0, bytes: 0 });
});
