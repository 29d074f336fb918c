/** Tensors between threads of one process. In child processes, where counts are exact. */
import { ask, run } from '../support/child';
import { GC, WORKERS } from './prelude';

const LIBRARY = require.resolve('libtorch-node');
const NATIVE = LIBRARY.replace(/index\.js$/, 'addon/native.js');

test('a tensor is shared with a worker without copying, both ways, and counted once', async () => {
  const { before, during, result, seen, after } = await ask(
    `${WORKERS}
    (async () => {
      const before = figures();
      const body = async () => {
      const t = torch.ones([1 << 20]);
      const worker = start(\`
        const u = torch.fromShared(workerData);
        const seen = u.sum().item();
        u.fill_(2);
        const mine = torch.full([10], 3);
        parentPort.postMessage({ seen, memory: torch.memory(), token: mine.share(), view: u.slice(0, 0, 5).share() });
        parentPort.once('message', () => {});
      \`, { workerData: t.share() });
      const [{ seen, memory, token, view }] = await once(worker, 'message');
      const during = { bytes: memory.bytes, same: torch.memory().storages };
      worker.postMessage('end');
      await once(worker, 'exit');
      const result = [t.sum().item(), torch.fromShared(token).sum().item(), torch.fromShared(view).sum().item()];
      return { during, result, seen };
      };
      answer({ before, ...await body(), after: await settled(before) });
    })();
  `,
    GC,
  );
  expect(seen).toBe(1 << 20);
  // One storage of 4 MiB, and small ones: the worker's own, the sums.
  expect(during.bytes).toBeGreaterThanOrEqual(4 << 20);
  expect(during.bytes).toBeLessThan((4 << 20) + 200);
  expect(result).toEqual([2 << 20, 30, 10]);
  expect(after).toEqual(before);
});

test('one token serves many workers, and a token of an ended worker is valid', async () => {
  const { sums, late, before, after } = await ask(
    `${WORKERS}
    (async () => {
      const before = figures();
      const body = async () => {
        const { messages: [token] } = await run('parentPort.postMessage(torch.arange(100).share()); process.exitCode = 0;');
        const outcomes = await Promise.all([1, 2, 3].map((n) =>
          run('parentPort.postMessage(torch.fromShared(workerData.list[0]).sum().mul(' + n + ').item())', { workerData: { list: [token] } })));
        return { sums: outcomes.map(({ messages }) => messages[0]), late: torch.fromShared(token).sum().item() };
      };
      const { sums, late } = await body();
      answer({ sums, late, before, after: await settled(before) });
    })();
  `,
    GC,
  );
  expect({ sums, late }).toEqual({ sums: [4950, 9900, 14850], late: 4950 });
  expect(after).toEqual(before);
});

test('disposing a token revokes it for all threads', async () => {
  const { code } = await ask(`${WORKERS}
    (async () => {
      const token = torch.ones([3]).share();
      const worker = start('parentPort.once("message", (token) => { try { torch.fromShared(token); } catch (error) { parentPort.postMessage(error.code); } })');
      token.dispose();
      worker.postMessage(token);
      answer({ code: (await finish(worker)).messages[0] });
    })();
  `);
  expect(code).toBe('ERR_TORCH_SHARED');
});

test('gradients of a shared leaf belong to each thread', async () => {
  const { mine, theirs, leaf } = await ask(`${WORKERS}
    (async () => {
      const w = torch.ones([4], { requiresGrad: true });
      const { messages: [theirs] } = await run(\`
        const w = torch.fromShared(workerData);
        w.mul(5).sum().backward();
        parentPort.postMessage({ grad: w.grad.toArray(), leaf: w.requiresGrad && w.gradFn === null });
      \`, { workerData: w.share() });
      w.mul(2).sum().backward();
      answer({ mine: w.grad.toArray(), theirs: theirs.grad, leaf: theirs.leaf });
    })();
  `);
  expect({ mine, theirs, leaf }).toEqual({ mine: [2, 2, 2, 2], theirs: [5, 5, 5, 5], leaf: true });
});

test('noGrad and inferenceMode apply to one thread', async () => {
  const { inside, after } = await ask(`${WORKERS}
    (async () => {
      const source = 'parentPort.postMessage([torch.isGradEnabled(), torch.isInferenceModeEnabled()]); torch.setGradEnabled(false);';
      torch.setGradEnabled(false);
      const inside = (await run(source)).messages[0];
      torch.setGradEnabled(true);
      await run('torch.inferenceMode(() => { torch.setGradEnabled(false); process.exit(0); })');
      answer({ inside, after: [torch.isGradEnabled(), torch.isInferenceModeEnabled(), (await run(source)).messages[0]] });
    })();
  `);
  expect({ inside, after }).toEqual({ inside: [true, false], after: [true, false, [true, false]] });
});

test('the memory that threads report to V8 adds up to the total, in any order of release', async () => {
  const { steps } = await ask(
    `${WORKERS}
    const { native } = require(${JSON.stringify(NATIVE)});
    (async () => {
      const source = \`
        const { native } = require(${JSON.stringify(NATIVE)});
        const held = [];
        parentPort.on('message', ({ token, drop, end }) => {
          if (token) held.push(torch.fromShared(token));
          if (drop) held.pop().dispose();
          parentPort.postMessage(native.reportedBytes());
          if (end) parentPort.close();
        });
        parentPort.postMessage('ready');
      \`;
      const workers = [start(source), start(source)];
      await Promise.all(workers.map((worker) => once(worker, 'message')));
      const tell = async (i, message) => { workers[i].postMessage(message); return (await once(workers[i], 'message'))[0]; };
      const steps = [];
      const look = async () => steps.push([native.reportedBytes(), await tell(0, {}), await tell(1, {}), torch.memory().bytes]);
      let t = torch.ones([1 << 18]);
      const token = t.share();
      await look();
      await tell(0, { token });
      await tell(1, { token });
      await tell(1, { token });
      await look();
      t.dispose(); // the charge moves to a worker
      await look();
      await tell(0, { drop: true }); // and then to the other, or stays there
      await look();
      t = torch.fromShared(token);
      await tell(1, { drop: true });
      await look();
      await tell(1, { drop: true }); // and back
      await look();
      await tell(0, { token });
      t.dispose();
      await look();
      // The end of a thread moves it too.
      t = torch.fromShared(token);
      const exit = once(workers[0], 'exit');
      await tell(0, { end: true });
      await exit;
      steps.push([native.reportedBytes(), 0, await tell(1, {}), torch.memory().bytes]);
      t.dispose();
      steps.push([native.reportedBytes(), 0, await tell(1, { end: true }), torch.memory().bytes]);
      answer({ steps });
    })();
  `,
    GC,
  );
  const M = 1 << 20;
  for (const [main, first, second, bytes] of steps) expect(main + first + second).toBe(bytes);
  const one = (step: number[]) => step.slice(0, 3).filter((bytes) => bytes !== 0);
  for (const step of steps.slice(0, -1)) expect(one(step)).toEqual([M]);
  expect(steps[0][0]).toBe(M);
  expect(steps[2][0]).toBe(0);
  expect(steps[3][2]).toBe(M);
  expect(steps[5][0]).toBe(M);
  expect(steps[6][1]).toBe(M);
  expect(steps[7][0]).toBe(M);
  expect(steps[8]).toEqual([0, 0, 0, 0]);
});

test('torch.memory() is consistent in several threads while others allocate and free', async () => {
  const { bad, looks, before, after } = await ask(
    `${WORKERS}
    (async () => {
      const before = figures();
      const rounds = new Int32Array(new SharedArrayBuffer(8)); // of each maker
      const makers = [0, 1].map((i) => start(\`
        const { rounds, i } = workerData;
        let stop = false;
        parentPort.once('message', () => { stop = true; });
        const round = () => {
          torch.scope(() => { for (let j = 0; j < 50; j++) torch.zeros([256]).view([16, 16]).add(1).toSparse(); });
          Atomics.add(rounds, i, 1);
          if (!stop) setImmediate(round);
        };
        round();
      \`, { workerData: { rounds, i } }));
      // At most: two scopes of 50 × (1 KiB twice, a view, a sparse tensor of 1 KiB and its indices).
      const looker = \`
        let bad = [], looks = 0;
        const until = Date.now() + 1500;
        // At least this long, and until every thread has done enough, in any scheduling.
        while (Date.now() < until || looks < 1000 || workerData.rounds.some((_, i) => Atomics.load(workerData.rounds, i) < 100)) {
          const m = torch.memory();
          looks++;
          const numbers = [m.tensors, m.storages, m.bytes, m.allocatedBytes, m.tokens, ...Object.values(m.devices).flatMap((d) => Object.values(d))];
          const sums = Object.values(m.devices).reduce((sum, d) => sum + d.bytes, 0);
          if (numbers.some((n) => !(n >= 0 && n < 1e9)) || sums !== m.bytes || m.bytes > 2 ** 20 || m.tensors > 2000) bad.push(m);
        }
        parentPort.postMessage({ bad: bad.slice(0, 3), looks });
      \`;
      const outcomes = await Promise.all([0, 1].map(() => run(looker, { workerData: { rounds } })));
      const ends = makers.map((maker) => once(maker, 'exit'));
      for (const maker of makers) maker.postMessage('stop');
      await Promise.all(ends);
      answer({ bad: outcomes.flatMap(({ messages }) => messages[0].bad), looks: outcomes.map(({ messages }) => messages[0].looks), before, after: await settled(before) });
    })();
  `,
    GC,
  );
  expect(bad).toEqual([]);
  for (const count of looks) expect(count).toBeGreaterThanOrEqual(1000);
  expect(after).toEqual(before);
});

test('workers inside workers, with a shared environment and with limits', async () => {
  const { nested, sharedEnv, limited, before, after } = await ask(
    `${WORKERS}
    (async () => {
      const before = figures();
      const inner = "const torch = require(process.argv[2]); const { parentPort, workerData } = require('node:worker_threads');"
        + "torch.fromShared(workerData).mul_(2); parentPort.postMessage(torch.ones([2]).share());";
      const body = async () => {
        const t = torch.ones([8]);
        const { messages } = await run(\`
          const t = torch.fromShared(workerData.token);
          const worker = new Worker(workerData.inner, { eval: true, argv: [${JSON.stringify(LIBRARY)}], workerData: t.share() });
          worker.on('message', (token) => parentPort.postMessage(token));
        \`, { workerData: { token: t.share(), inner } });
        const nested = [t.sum().item(), torch.fromShared(messages[0]).sum().item()];
        const sharedEnv = (await run('process.env.FROM_WORKER = String(torch.ones([3]).sum().item()); parentPort.postMessage(1);', { env: SHARE_ENV })).code;
        return { nested, sharedEnv: [sharedEnv, process.env.FROM_WORKER] };
      };
      const { nested, sharedEnv } = await body();
      const limited = await run('const held = [torch.ones([1000])], objects = []; for (;;) { objects.push({ t: torch.ones([10]), more: Array.from({ length: 100 }, Math.random) }); }',
        { resourceLimits: { maxOldGenerationSizeMb: 32 } });
      answer({ nested, sharedEnv, limited, before, after: await settled(before) });
    })();
  `,
    GC,
  );
  expect(nested).toEqual([16, 2]);
  expect(sharedEnv).toEqual([0, '3']);
  expect(limited).toMatchObject({ error: 'ERR_WORKER_OUT_OF_MEMORY', code: 1 });
  expect(after).toEqual(before);
});

test('several workers load the library at once, before the main thread does', async () => {
  const outcome = await run(process.execPath, [
    '-e',
    `
    const { Worker } = require('node:worker_threads');
    const file = ${JSON.stringify(LIBRARY)};
    const source = 'const torch = require(' + JSON.stringify(file) + '); if (torch.ones([7]).sum().item() !== 7) throw new Error("wrong");';
    const ends = Array.from({ length: 4 }, () => new Promise((resolve, reject) => {
      new Worker(source, { eval: true }).on('error', reject).on('exit', resolve);
    }));
    Promise.all(ends).then((codes) => console.log(JSON.stringify([codes, require(file).memory().tensors])));
  `,
  ]);
  expect(outcome).toEqual({ code: 0, signal: null, stderr: '', stdout: '[[0,0,0,0],0]\n' });
});
