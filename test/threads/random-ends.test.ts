/**
 * Workers that end at random moments, in random ways, during random work on the pool. `LTN_WORKER_ENDS=10000` for as many;
 * a failure names the seed, with which `LIBTORCH_NODE_SEED` draws the same ends again (not the same moments).
 */
import { ask, program, run } from '../support/child';
import { GC, WORKERS } from './prelude';
import { BEGIN, FILES_MS, type Files, makeFiles, removeFiles } from './works';

const ENDS = Number(process.env.LTN_WORKER_ENDS ?? 100);
/** Workers with a full heap, in processes of ten: only with LTN_WORKER_ENDS, because V8 influences how they end. */
const HEAPS = process.env.LTN_WORKER_ENDS === undefined ? 0 : Math.ceil(ENDS / 200);
const COUNT = 1 << 16;
// `npm test` always uses the same ends; with an explicit number they differ each time.
const anySeed = process.env.LTN_WORKER_ENDS === undefined ? 1 : Date.now() % 2 ** 31;
const seed = Number(process.env.LIBTORCH_NODE_SEED ?? anySeed);
let files: Files;

beforeAll(async () => {
  files = await makeFiles(COUNT);
}, FILES_MS);
afterAll(removeFiles);

/** Repeats the requested kinds of work, and ends in the requested way, on request. */
const WORKER = `${BEGIN}
  const { kinds, end, turns, count, files } = workerData;
  let left = turns;
  let going = true;
  const ends = {
    terminate: () => {},
    exit: () => process.exit(3),
    throw: () => { throw new Error('stop'); },
    'end naturally': () => { going = false; },
    'out of heap': () => { for (;;) hoard.push(new Array(100).fill(0)); },
  };
  const hoard = [];
  const step = () => { if (left-- <= 0) ends[end](); };
  const all = Object.values(works);
  for (const kind of kinds) (async () => {
    while (going) {
      const result = await all[kind % all.length](count, files);
      if (result.min().item() !== 1 || result.max().item() !== 1) process.exit(9);
      result.dispose();
    }
  })();
  setImmediate(function turn() { if (going) { step(); setImmediate(turn); } });
  parentPort.postMessage('begun');
`;

test(
  `${ENDS} random ends of workers under pool work (LIBTORCH_NODE_SEED=${seed})`,
  async () => {
    const { outcomes, ended, before, after } = await ask(
      `${WORKERS}
    let state = ${seed} >>> 0; // a linear congruential generator: the same numbers everywhere
    const random = (below) => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return Math.floor((state / 2 ** 32) * below); };
    const ends = ['terminate', 'exit', 'throw', 'end naturally'];
    const due = { terminate: [1], exit: [3], throw: [1], 'end naturally': [0] };
    (async () => {
      const before = figures();
      const outcomes = {};
      let ended = 0;
      torch.asyncPool.threads = 4;
      await pool(${ENDS}, 3, async () => {
        const end = ends[random(ends.length)];
        const kinds = Array.from({ length: 1 + random(3) }, () => random(1000));
        const wait = random(8);
        const workerData = { kinds, end, turns: random(60), count: ${COUNT}, files: ${JSON.stringify(files)} };
        const worker = start(${JSON.stringify(WORKER)}, { workerData });
        const outcome = finish(worker);
        if (end === 'terminate') {
          await Promise.race([once(worker, 'message'), outcome]);
          await pause(wait);
          worker.terminate();
        }
        const { code, error } = await outcome;
        const right = due[end].includes(code) && (error === undefined || error === 'stop');
        if (!right) outcomes[end + ' ' + kinds + ' ' + code + ' ' + error] = ended;
        if (++ended % 500 === 0) console.log(ended + ' workers have ended (seed ${seed})');
      });
      answer({ outcomes, ended, before, after: await settled(before) });
    })();
  `,
      GC,
      { limitMs: 120_000 + ENDS * 1000 },
    );
    expect({ seed, ended, outcomes }).toEqual({ seed, ended: ENDS, outcomes: {} });
    expect(after).toEqual(before);
  },
  240_000 + ENDS * 1000,
);

/** The same without the library: how often Node itself crashes. */
const CONTROL = `
  const { Worker } = require('node:worker_threads');
  const source = 'const hoard = []; setImmediate(() => { for (;;) hoard.push(new Array(100).fill(0)); });';
  const one = () => new Promise((resolve) => {
    const worker = new Worker(source, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 24 } });
    worker.on('error', () => {});
    worker.on('exit', resolve);
  });
  (async () => { for (let i = 0; i < 4; i++) await Promise.all([one(), one(), one()]); })();
`;

if (HEAPS > 0) {
  test(
    `${HEAPS} processes with ten workers each whose heap is full under pool work`,
    async () => {
      const ends: Record<string, number> = {};
      const count = (end: string) => {
        ends[end] = (ends[end] ?? 0) + 1;
      };
      for (let i = 0; i < HEAPS; i++) {
        const { answer, code, signal } = await program(
          `${WORKERS}
          (async () => {
            const outcomes = {};
            const before = figures();
            torch.asyncPool.threads = 4;
            await pool(10, 3, async (i) => {
              const workerData = { kinds: [i + 10 * ${i}, 7 * i], end: 'out of heap', turns: 6 * i, count: ${COUNT}, files: ${JSON.stringify(files)} };
              const { code, error } = await run(${JSON.stringify(WORKER)}, { workerData, resourceLimits: { maxOldGenerationSizeMb: 24 } });
              outcomes[code + ' ' + error] = (outcomes[code + ' ' + error] ?? 0) + 1;
            });
            answer({ outcomes, even: same(await settled(before), before) });
          })();
        `,
          GC,
        );
        count(JSON.stringify({ code, signal, ...answer }));
        const control = await run(process.execPath, ['-e', CONTROL]);
        count(`without the library: ${JSON.stringify({ code: control.code, signal: control.signal })}`);
      }
      expect(ends).toEqual({
        [JSON.stringify({ code: 0, signal: null, outcomes: { '1 ERR_WORKER_OUT_OF_MEMORY': 10 }, even: true })]: HEAPS,
        [`without the library: ${JSON.stringify({ code: 0, signal: null })}`]: HEAPS,
      });
    },
    60_000 + HEAPS * 60_000,
  );
}
