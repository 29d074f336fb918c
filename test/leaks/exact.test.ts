/** libtorch-node/testing is exact: the same figures every time, whatever the collector does. */
import { ask } from '../support/child';
import { LIB } from '../support/torch';

const limit = { limitMs: 600_000 };
jest.setTimeout(limit.limitMs);

const TESTING = `const { measureTensorLeaks } = require(${JSON.stringify(`${LIB}/testing/index.js`)});`;

test('200 measurements in one process are all right', async () => {
  const program = `${TESTING}
    (async () => {
      const wrong = [];
      const noise = [];
      const held = [];
      for (let run = 0; run < 100; run++) {
        // Collections run at any time, and functions are compiled meanwhile.
        noise.push(Array.from({ length: 2000 }, () => ({ run })));
        if (noise.length > 3) noise.shift();
        const work = new Function('torch', 'return torch.ones([3, ' + (run + 1) + ']).mul(2).sum([1])');
        const clean = await measureTensorLeaks(() => work(torch), { iterations: 2, warmup: 1 });
        if (clean.leaks || clean.tensors > 0 || clean.bytes > 0) wrong.push({ run, clean });
        const leaky = await measureTensorLeaks(() => { work(torch); held.push(torch.ones([4])); },
          { iterations: 2, warmup: 1, settleMs: 0 });
        if (!leaky.leaks || leaky.tensors !== 2 || leaky.bytes !== 32 || leaky.sites.length !== 1) wrong.push({ run, leaky });
      }
      answer(wrong);
    })();
  `;
  // Seconds of collections on an idle machine.
  expect(await ask(program, [], limit)).toEqual([]);
});

test("tensors that V8's optimizing compilers hold are not leaks", async () => {
  const program = `${TESTING}
    let calls = 0;
    // Each call starts the compilation of a new function, which holds the tensor that its closure has.
    const hot = () => new Function('torch',
      'const kept = torch.ones([4]); const get = () => kept.handle + ' + calls++ + '; for (let i = 0; i < 30_000; i++) get();')(torch);
    measureTensorLeaks(hot, { iterations: 3, warmup: 0, settleMs: 0 })
      .then(({ leaks, tensors, awaitingCollection }) => answer({ leaks, tensors, awaitingCollection }));
  `;
  // With this delay every such compilation outlasts the call that started it.
  expect(await ask(program, ['--concurrent-recompilation-delay=100'], limit)).toEqual({
    leaks: false,
    tensors: 0,
    awaitingCollection: { tensors: 3, bytes: 48 },
  });
});

test('a function that leaves nothing behind takes few collections, which are slow in a large heap', async () => {
  const program = `${TESTING}
    const seen = [];
    const gc = new PerformanceObserver((list) => seen.push(...list.getEntries()));
    gc.observe({ entryTypes: ['gc'] });
    const major = () => {
      seen.push(...gc.takeRecords());
      return seen.splice(0).filter(({ detail }) => detail.kind === require('node:perf_hooks').constants.NODE_PERFORMANCE_GC_MAJOR).length;
    };
    const held = [];
    const nothing = () => torch.scope(() => { torch.ones([4]).mul(2); });
    (async () => {
      const clean = await measureTensorLeaks(nothing);
      const few = major();
      const leaky = await measureTensorLeaks(() => held.push(torch.ones([4])), { settleMs: 0 });
      answer({ clean: clean.leaks, few, leaky: leaky.leaks, many: major() });
    })();
  `;
  const { clean, few, leaky, many } = (await ask(program, [], limit)) as Record<string, unknown>;
  expect({ clean, leaky }).toEqual({ clean: false, leaky: true });
  expect(few).toBeLessThanOrEqual(5);
  expect(many).toBeGreaterThanOrEqual(8);
});

test('garbage of one round does not hide that more is held after the last than after the first', async () => {
  const figures = await ask(
    `${TESTING}
    const measured = (garbage) => {
      const held = [];
      const counts = [4, 6, 4, 5, 9, 7, 9, 8];
      let round = 0;
      return measureTensorLeaks(() => {
        while (held.length > counts[round]) held.pop().dispose();
        while (held.length < counts[round]) held.push(torch.ones([2]));
        if (garbage && round === 5) { torch.ones([2]); torch.ones([2]); }
        round++;
      }, { iterations: 8, warmup: 0, settleMs: 0 });
    };
    (async () => {
      const { leaks, tensors } = await measured(false);
      answer([[leaks, tensors], [(await measured(true)).leaks]]);
    })();
  `,
    ['--expose-gc'],
    limit,
  );
  expect(figures).toEqual([[true, 8], [true]]);
});

test('concurrent measurements run one after the other', async () => {
  const figures = await ask(
    `${TESTING}
    const held = [];
    const options = { iterations: 3, warmup: 0, settleMs: 0 };
    Promise.all([
      measureTensorLeaks(() => { held.push(torch.ones([2])); }, options),
      measureTensorLeaks(async () => { await null; }, options),
      measureTensorLeaks(() => { throw new Error('its own'); }, options).catch((error) => error.message),
      measureTensorLeaks(() => { held.push(torch.ones([1]), torch.ones([1])); }, options),
    ]).then((all) => answer(all.map((one) => one.tensors ?? one)));
  `,
    [],
    limit,
  );
  expect(figures).toEqual([3, 0, 'its own', 6]);
});

test('a call that never settles does not stop later measurements, and fails its own if it settles after all', async () => {
  const program = `${TESTING}
    let settle;
    const options = { iterations: 3, warmup: 0, settleMs: 0 };
    const stuck = measureTensorLeaks(() => new Promise((resolve) => { settle = resolve; }), options);
    Promise.all([measureTensorLeaks(() => torch.ones([2]).dispose(), options), measureTensorLeaks(() => {}, options)]).then((later) => {
      settle();
      stuck.catch((error) => answer([later.map(({ leaks }) => leaks), error.code, error.message]));
    });
  `;
  expect(await ask(program, [], limit)).toEqual([
    [false, false],
    'ERR_TORCH_TIMEOUT',
    'measureTensorLeaks: expected calls of at most 2 s while another measurement waits, got a longer one; await one measurement before the next',
  ]);
});

test('tensors of other threads are not attributed to the function', async () => {
  const figures = await ask(
    `${TESTING}
    const { Worker } = require('node:worker_threads');
    const worker = new Worker(
      "const torch = require(require('node:worker_threads').workerData); const held = [];" +
      "setInterval(() => held.push(torch.ones([1000])), 1); setTimeout(() => require('node:worker_threads').parentPort.postMessage(0), 20);",
      { eval: true, workerData: ${JSON.stringify(`${LIB}/index.js`)} },
    );
    worker.once('message', async () => {
      const { leaks, tensors, hiddenBytes } = await measureTensorLeaks(() => torch.ones([2]));
      await worker.terminate();
      answer({ leaks, tensors, hiddenBytes });
    });
  `,
    [],
    limit,
  );
  expect(figures).toEqual({ leaks: false, tensors: 0, hiddenBytes: null });
});
