/**
 * Every end of a worker, and of the main thread, during every kind of pool work: no crash, the right exit code, and
 * every count back to its old value. The work reads memory that is freed with its thread.
 */
import { ask, program } from '../support/child';
import { GC, WORKERS } from './prelude';
import { BEGIN, FILES_MS, type Files, makeFiles, removeFiles, WORKS } from './works';

const COUNT = 1 << 18;
let files: Files;

beforeAll(async () => {
  files = await makeFiles(COUNT);
}, FILES_MS);
afterAll(removeFiles);

/**
 * All kinds of work at once, each repeated until `going` is false; then reports which were right. A worker with a single
 * kind is not different for the pool, and loading the library takes most of the time.
 */
const WORK = `
  ${BEGIN}
  let going = true;
  const workAll = (count, files) => Promise.all(Object.values(works).map(async (work) => {
    for (;;) {
      const result = await work(count, files);
      const right = result.min().item() === 1 && result.max().item() === 1;
      result.dispose();
      if (!going || !right) return right;
    }
  }));
`;

const WORKER = `${WORK}
  const ends = {
    exit: () => process.exit(3),
    throw: () => { throw new Error('stop'); },
    'throw on a turn of its own': () => setImmediate(() => { throw new Error('stop'); }),
    'end naturally': () => { going = false; },
  };
  parentPort.once('message', (end) => ends[end]());
  workAll(workerData.count, workerData.files).then((right) => parentPort.postMessage(right));
  parentPort.postMessage('begun');
`;

/** `busy` waits until that many kinds of work are running: the others are between two runs. */
const PROGRAM = `${WORKERS}
  const kinds = ${Object.keys(WORKS).length};
  torch.asyncPool.threads = 2 * kinds;
  const busy = async (atLeast) => { while (torch.asyncPool.running < atLeast) await pause(1); };
  const begin = async (files) => {
    const worker = start(${JSON.stringify(WORKER)}, { workerData: { count: ${COUNT}, files } });
    const end = finish(worker);
    await Promise.race([once(worker, 'message'), end.then(({ error }) => { throw error; })]);
    return { worker, end };
  };
`;

test.each([
  ['terminate()', 'worker.terminate()', { code: 1, messages: ['begun'] }],
  ['process.exit()', 'worker.postMessage("exit")', { code: 3, messages: ['begun'] }],
  ['an uncaught error', 'worker.postMessage("throw")', { code: 1, messages: ['begun'], error: 'stop' }],
  [
    'an uncaught error on a turn of its own',
    'worker.postMessage("throw on a turn of its own")',
    { code: 1, messages: ['begun'], error: 'stop' },
  ],
  [
    'its natural end',
    'worker.postMessage("end naturally")',
    { code: 0, messages: ['begun', Object.keys(WORKS).map(() => true)] },
  ],
])(
  'a worker ends by %s',
  async (_, end, expected) => {
    const { outcomes, before, after } = await ask(
      `${PROGRAM}
      (async () => {
        const before = figures();
        const outcomes = [];
        for (let round = 0; round < 3; round++) {
          const { worker, end } = await begin(${JSON.stringify(files)});
          await busy(3);
          ${end};
          outcomes.push(await end);
        }
        answer({ outcomes, before, after: await settled(before) });
      })();
    `,
      GC,
    );
    expect(outcomes).toEqual([expected, expected, expected]);
    expect(after).toEqual(before);
  },
  150_000,
);

test.each([
  ['process.exit()', 'process.exit(7)', 7],
  ['process.reallyExit()', 'process.reallyExit(7)', 7],
  ['an uncaught error', 'setImmediate(() => { throw "stop"; })', 1],
  ['an unhandled rejection', 'Promise.reject("stop")', 1],
  ['its natural end', 'going = false', 0],
])(
  'the main thread ends by %s while it and a worker work',
  async (_, end, expected) => {
    const { code, signal, stderr } = await program(`${PROGRAM} ${WORK}
      (async () => {
        const files = ${JSON.stringify(files)};
        const { worker } = await begin(files);
        worker.unref();
        workAll(${COUNT}, files).then((right) => { if (!right.every(Boolean)) process.exitCode = 9; });
        await busy(3);
        ${end};
      })();
    `);
    // stderr has the uncaught error; other output is unexpected.
    const told = expected === 1 ? expect.stringContaining('stop') : '';
    expect({ code, signal, stderr }).toEqual({ code: expected, signal: null, stderr: told });
  },
  150_000,
);
