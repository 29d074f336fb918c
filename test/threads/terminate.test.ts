/**
 * Workers terminated at any point: no crash, no output on stderr, and every count back to its old value, including
 * allocated bytes. The time is random, so each run stops them at other points.
 */
import { ask, program } from '../support/child';
import { GC, WORKERS } from './prelude';

/** The endless work of a worker, after it has reported its start. */
const LOOPS: Record<string, string> = {
  'in a long product': 'const a = torch.ones([700, 700]); begin(); for (;;) a.mm(a);',
  'in a loop of ops': 'begin(); for (;;) torch.ones([1000]).add(1).sum();',
  'in scopes':
    'begin(); for (;;) torch.scope((s) => { const t = torch.ones([1000]); torch.scope(() => t.add(1)); return [t, t.t()]; });',
  'in an open scope, in inference mode, without gradients':
    'torch.openScope(); begin(); torch.inferenceMode(() => torch.noGrad(() => { for (;;) torch.scope(() => torch.ones([100]).add(1)); }));',
  'while it posts tokens': 'begin(); for (;;) torch.scope(() => parentPort.postMessage(torch.ones([1000]).share()));',
  'while it takes tokens':
    'begin(); for (;;) { torch.fromShared(workerData.token); torch.fromShared(workerData.token).add_(1).dispose(); }',
  'while it makes and revokes tokens':
    'const t = torch.ones([9]); begin(); for (;;) { const token = t.share(); torch.fromShared(structuredClone(token)); token.dispose(); }',
  'while errors are thrown':
    'const a = torch.ones([2]), b = torch.ones([3]); begin(); for (;;) try { a.add(b); } catch (error) { torch.zeros([100]); }',
  'while warnings are delivered':
    'const a = torch.ones([4]); begin(); for (;;) torch.add(a, a, { out: torch.ones([2]) });',
  'in backward':
    'const w = torch.ones([50], { requiresGrad: true }); begin(); for (;;) w.mul(2).pow(2).sum().backward();',
  'while data goes in and out':
    'begin(); for (;;) { torch.tensor([1, 2, 3]).toArray(); torch.ones([99]).toTypedArray(); torch.fromTypedArray(new Float32Array(99)); }',
  'with other native objects and sparse tensors':
    'begin(); for (;;) { new torch.Generator(); torch.eye(9).toSparse().coalesce(); }',
  'while it looks at the memory': 'begin(); for (;;) { torch.ones([9]); torch.memory(); process.memoryUsage(); }',
  'in async scopes':
    'const loop = async () => { for (;;) await torch.scope(async () => { const t = torch.ones([100]); await null; await new Promise(setImmediate); return t.add(1); }); }; for (let i = 0; i < 5; i++) loop(); begin();',
  'while ops run on the pool':
    'const a = torch.ones([300, 300]); const loop = async () => { for (;;) (await torch.async.mm(a, a)).dispose(); }; for (let i = 0; i < 4; i++) loop(); begin();',
  'while chains run on the pool and are aborted':
    'const a = torch.ones([200, 200]); const loop = async () => { for (;;) { const c = new AbortController(); setTimeout(() => c.abort(), 2); await torch.run((t) => { let x = t.mm(a, a); for (let i = 0; i < 50; i++) x = t.mm(x, a); return [x, x.sum()]; }, { signal: c.signal }).then(torch.disposeAll, () => {}); } }; for (let i = 0; i < 4; i++) loop(); begin();',
  'in a worker of its own': `const worker = new Worker('const torch = require(process.argv[2]); require("node:worker_threads").parentPort.postMessage(1); for (;;) torch.ones([99]).add(1);', { eval: true, argv: [workerData.library] }); worker.once('message', begin); worker.on('error', () => {});`,
};

/** One process for several workers, because loading the library takes long. */
const names = Object.keys(LOOPS);
const groups = [0, 1, 2].map((part) => names.filter((_, i) => i % 3 === part));

test.each(groups.map((group) => [group.join('; '), group] as const))(
  '%s',
  async (_, group) => {
    const { outcomes, before } = await ask(
      `${WORKERS}
    (async () => {
      const library = ${JSON.stringify(require.resolve('libtorch-node'))};
      const shared = torch.ones([256]);
      const before = figures();
      const stop = async (source) => {
        const workerData = { token: shared.share(), library };
        return await Promise.all([0, 1, 2].map(async () => {
          const worker = start('const begin = () => parentPort.postMessage("begin");' + source, { workerData });
          const end = finish(worker);
          await once(worker, 'message');
          await pause(Math.random() * 30);
          await worker.terminate();
          return (await end).code;
        }));
      };
      const outcomes = {};
      for (const [name, source] of ${JSON.stringify(group.map((name) => [name, LOOPS[name]]))}) {
        const codes = await stop(source);
        outcomes[name] = { codes, after: await settled(before) };
      }
      answer({ outcomes, before });
      shared.dispose();
    })();
  `,
      [...GC, '--no-warnings'],
    );
    const expected = Object.fromEntries(group.map((name) => [name, { codes: [1, 1, 1], after: before }]));
    expect(outcomes).toEqual(expected);
  },
  150_000,
);

test('while they load the library', async () => {
  const { codes, before, after } = await ask(
    `${WORKERS}
    (async () => {
      const before = figures();
      const t = performance.now();
      await run('');
      const load = performance.now() - t;
      const codes = new Set();
      await pool(16, 4, async (i) => {
        const worker = start('parentPort.postMessage(torch.ones([10]).share())');
        const end = finish(worker);
        await pause((load * 1.5 * i) / 16);
        await worker.terminate();
        codes.add((await end).code);
      });
      answer({ codes: [...codes].sort(), before, after: await settled(before) });
    })();
  `,
    GC,
  );
  for (const code of codes) expect([0, 1]).toContain(code);
  expect(after).toEqual(before);
}, 150_000);

test('unread messages to a worker are freed with it', async () => {
  const { held, before, after } = await ask(
    `${WORKERS}
    (async () => {
      const before = figures();
      const body = async () => {
        const worker = start('parentPort.postMessage(1); for (;;) torch.ones([10]);');
        await once(worker, 'message');
        torch.scope(() => { for (let i = 0; i < 100; i++) worker.postMessage({ deep: [torch.ones([1000]).share()] }); });
        const held = torch.memory().tokens;
        await worker.terminate();
        return held;
      };
      answer({ held: await body(), before, after: await settled(before) });
    })();
  `,
    GC,
  );
  expect(held).toBeGreaterThanOrEqual(100);
  expect(after).toEqual(before);
});

const WORK =
  'parentPort.postMessage(1); const a = torch.ones([300, 300]); for (;;) torch.scope(() => { a.mm(a); a.share(); });';

test.each([
  ['process.exit in the main thread', 'process.exit(7)', 7],
  ['an uncaught error in the main thread', 'setImmediate(() => { throw "stop"; })', 1],
  ['process.exit in a scope', 'torch.scope(() => { torch.ones([10]).share(); process.exit(0); })', 0],
])(
  '%s while workers compute ends the process normally',
  async (_, end, expected) => {
    for (let round = 0; round < 2; round++) {
      const { code, signal, stderr } = await program(`${WORKERS}
      const token = torch.ones([10]).share();
      const workers = [0, 1, 2].map(() => start(${JSON.stringify(WORK)}, { workerData: token }));
      Promise.all(workers.map((worker) => once(worker, 'message'))).then(() => setTimeout(() => { ${end}; }, 20 * Math.random()));
    `);
      // stderr has the uncaught error; other output is unexpected.
      const told = expected === 1 ? expect.stringContaining('stop') : '';
      expect({ code, signal, stderr }).toEqual({ code: expected, signal: null, stderr: told });
    }
  },
  150_000,
);
