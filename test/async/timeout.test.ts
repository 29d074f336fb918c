/** `timeoutMs`: the caller is free in time, whatever the op does; what it holds is kept until it ends, and freed then. */
import { ask, program } from '../support/child';
import { codeOf, settled, torch, untyped } from '../support/torch';

/** Takes hours: 2^20 steps for each of a million elements. The process ends without it. */
const ENDLESS = 'special.laguerrePolynomialL(million, 2 ** 20';

/**
 * `late(make, begun)` calls `make(ms)` with longer and longer times until the time is over while the op runs. On a busy machine
 * it may be over before that, also when a thread has taken the job: then the op does not run. `begun()` tells by the memory of
 * its result. `others`: ops of earlier calls, which were abandoned and run on.
 */
const LATE = `
  torch.setNumThreads(1);
  torch.asyncPool.threads = 1;
  const bytes = () => torch.memory().allocatedBytes;
  const late = async (make, begun, others = 0) => {
    for (let ms = 2; ; ms = ms < 5000 ? 2 * ms : 2) {
      const error = await make(ms).catch((error) => error);
      while (torch.asyncPool.running > others) {
        if (torch.asyncPool.abandoned > others && begun()) return error;
        await new Promise(setImmediate);
      }
    }
  };
  const million = torch.ones([1e6]);
  const endless = (count) => () => bytes() >= 4e6 * (1 + count);`;

/** Keeps the only thread busy until `hold.abort()`. */
const HELD = `
  const hold = new AbortController();
  const held = async () => {
    const [busy, out] = [torch.ones([800, 800]), torch.empty([0])];
    const steps = (t) => {
      for (let i = 0; i < 20_000; i++) t.mm(busy, busy, { out });
    };
    torch.run(steps, { signal: hold.signal }).catch(() => {});
    while (torch.asyncPool.running !== 1 || out.numel === 0) await new Promise(setImmediate);
  };`;

test('calls that are aborted while they wait for a thread leave the queue with their inputs, whatever the op in progress does', async () => {
  const answered = await ask(`${LATE}
    ${HELD}
    (async () => {
      await held();
      const before = bytes();
      const controller = new AbortController();
      const [kept, out] = [torch.ones([2]), torch.zeros([2])];
      const calls = [];
      for (let i = 0; i < 20; i++) {
        const input = torch.ones([1000]);
        const { signal } = controller;
        calls.push(i % 2 === 0 ? torch.run(() => input.exp().sum(), { signal }) : torch.async.exp(input, { signal }));
        input.dispose();
      }
      calls.push(torch.run((t) => t.add(kept, 1, { out }), { signal: controller.signal }));
      const queued = torch.asyncPool.queued;
      controller.abort();
      const now = torch.asyncPool.queued;
      const names = new Set((await Promise.allSettled(calls)).map(({ reason }) => reason.name));
      await new Promise(setImmediate);
      const left = bytes() - before - 16;
      answer({ queued, now, names: [...names], left, running: torch.asyncPool.running, out: out.toArray() });
      hold.abort();
    })();`);
  expect(answered).toEqual({ queued: 21, now: 0, names: ['AbortError'], left: 0, running: 1, out: [0, 0] });
});

test('a call that would take hours rejects with its code, and the calls after it have a thread', async () => {
  const answered = await ask(`${LATE}
    const [x, y] = [torch.ones([2]), torch.ones([2])];
    (async () => {
      const error = await late((timeoutMs) => torch.async.${ENDLESS}, { timeoutMs }), endless(1));
      const sum = await torch.async.add(x, y);
      const inRun = await late((timeoutMs) => torch.run((t) => t.${ENDLESS}), { timeoutMs }), endless(2), 1);
      const product = await torch.run(() => x.mul(3));
      answer({
        code: error.code, message: error.message, at: error.stack.includes('[eval]'), sum: sum.toArray(), inRun: inRun.code,
        product: product.toArray(), abandoned: torch.asyncPool.abandoned, threads: torch.asyncPool.threads,
      });
      process.exit(0); // does not wait for them
    })();`);
  expect(answered).toEqual({
    code: 'ERR_TORCH_TIMEOUT',
    message: expect.stringMatching(
      /^expected the result within \d+ ms \(timeoutMs\); an op in progress goes on, and its result will be freed$/,
    ),
    at: true,
    sum: [2, 2],
    inRun: 'ERR_TORCH_TIMEOUT',
    product: [3, 3],
    abandoned: 2,
    threads: 1,
  });
});

test('the exit status is the one that the program gave', async () => {
  const { code, signal, stderr } = await program(
    `${LATE} late((timeoutMs) => torch.async.${ENDLESS}, { timeoutMs }), endless(1)).then(() => process.exit(7));`,
  );
  expect({ code, signal, stderr }).toEqual({ code: 7, signal: null, stderr: '' });
});

test('inputs stay until the op has ended, results are freed then, and every byte is counted', async () => {
  const answered = await ask(`${LATE}
    (async () => {
      million.dispose();
      const x = torch.ones([1200, 1200]);
      const size = bytes();
      const body = () => { let y = x; for (let i = 0; i < 20; i++) y = y.matmul(x); return y; };
      const { code } = await late((timeoutMs) => torch.run(body, { timeoutMs }), () => bytes() > size);
      x.dispose();
      const counted = counts();
      while (torch.asyncPool.running > 0 || bytes() !== 0) await new Promise(setImmediate);
      answer({ code, counted, left: bytes(), counts: counts() });
    })();`);
  const none = { tensors: 0, storages: 0, bytes: 0 };
  expect(answered).toEqual({ code: 'ERR_TORCH_TIMEOUT', counted: none, left: 0, counts: none });
});

test('the caller does not wait for an op that writes, whose tensor changes until it has ended', async () => {
  const answered = await ask(`${LATE}
    (async () => {
      const x = torch.ones([1500, 1500]);
      const size = bytes();
      let y;
      const product = (timeoutMs) => {
        y?.dispose();
        y = torch.empty([0]); // gets its memory when the op begins
        return torch.async.mm(x, x, { out: y, timeoutMs });
      };
      const { code } = await late(product, () => bytes() > size);
      while (torch.asyncPool.running > 0) await new Promise(setImmediate);
      answer({ code, now: y.at(0, 0).item(), tensors: torch.memory().tensors });
    })();`);
  expect(answered).toMatchObject({ code: 'ERR_TORCH_TIMEOUT', now: 1500 });
});

test('a call that is done in time is not affected, and leaves no timer', async () => {
  const before = settled();
  const x = torch.ones([2]);
  const sum = await torch.async.add(x, 1, { timeoutMs: 2 ** 31 - 1 });
  const product = await torch.run(() => x.mul(3), { timeoutMs: 600_000 });
  expect([sum.toArray(), product.toArray()]).toEqual([
    [2, 2],
    [3, 3],
  ]);
  for (const one of [x, sum, product]) one.dispose();
  expect(settled()).toEqual(before);
  // A timer would keep this process for ten minutes.
  await ask("torch.async.add(torch.ones([1]), 1, { timeoutMs: 600_000 }).then(() => answer('done'));", [], {
    limitMs: 60_000,
  });
});

test('a time that is not one is refused, and a signal may come with it', async () => {
  const x = torch.ones([2]);
  for (const timeoutMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, '5', null, {}]) {
    await expect(untyped.async.add(x, 1, { timeoutMs })).rejects.toMatchObject({ code: 'ERR_TORCH_ARGUMENT' });
    expect(codeOf(() => untyped.run(() => x, { timeoutMs }))).toBe('ERR_TORCH_ARGUMENT');
  }
  const gone = AbortSignal.abort(new Error('gone'));
  await expect(torch.async.add(x, 1, { signal: gone, timeoutMs: 1000 })).rejects.toThrow('gone');
  x.dispose();
});

test('the time includes that of waiting for a promise among the arguments', async () => {
  const never = new Promise<typeof x>(() => {});
  const x = torch.ones([2]);
  await expect(torch.async.add(never, x, { timeoutMs: 5 })).rejects.toMatchObject({ code: 'ERR_TORCH_TIMEOUT' });
  x.dispose();
});

test('of calls whose time is over together, those that wait do not get the threads of those that run', async () => {
  const answered = await ask(`${LATE}
    const x = torch.ones([2]);
    const endlessly = (timeoutMs) => torch.run((t) => t.${ENDLESS}), { timeoutMs }).catch(({ code }) => code);
    (async () => {
      for (let ms = 250; ; ms *= 2) {
        const before = torch.asyncPool.abandoned;
        let over = false;
        const first = endlessly(ms).then((code) => ((over = true), code));
        const others = Array.from({ length: 11 }, () => endlessly(ms));
        while (torch.asyncPool.running === before && !over) await new Promise(setImmediate);
        if (over) {
          await Promise.all(others); // the machine was busy: it has not begun
          continue;
        }
        for (const end = performance.now() + ms; performance.now() < end; );
        const codes = new Set(await Promise.all([first, ...others]));
        const { abandoned, queued } = torch.asyncPool;
        const sum = await torch.async.add(x, x);
        answer({ codes: [...codes], abandoned: abandoned - before, queued, sum: sum.toArray() });
        process.exit(0);
      }
    })();`);
  expect(answered).toEqual({ codes: ['ERR_TORCH_TIMEOUT'], abandoned: 1, queued: 0, sum: [2, 2] });
});
