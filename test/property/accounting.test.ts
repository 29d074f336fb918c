/**
 * Exact accounting: 100,000 random steps of two threads, in child processes; after each of them `torch.memory()` equals a
 * model of the storages to the byte. A failure is printed with its seed, and
 * `LIBTORCH_NODE_SEED=… LIBTORCH_NODE_PATH=…` runs it again. Where two platforms run the suite, the first (LTN_FIRST) takes
 * a fixed seed and the second (LTN_AGAIN) a random one.
 */
import { randomInt } from 'node:crypto';
import path from 'node:path';
import { run } from '../support/child';
import { ownWords } from '../support/sanitized';
import { LIB } from '../support/torch';

const PROGRAM = path.join(__dirname, 'program.cjs');
const STEPS = 25_000;

async function steps(seed: number, count: number, replay: string[] = []): Promise<any> {
  const args = ['--expose-gc', PROGRAM, LIB, String(seed), String(count), ...replay];
  const { code, signal, stdout, stderr } = await run(process.execPath, args, { limitMs: 580_000 });
  expect({ seed, code, signal, stderr: ownWords(stderr) }).toEqual({ seed, code: 0, signal: null, stderr: '' });
  return JSON.parse(stdout);
}

const NOTHING = { tensors: 0, storages: 0, bytes: 0, allocatedBytes: 0, tokens: 0 };

/** Kinds of steps that must occur in one of the runs, to detect mistakes in a step's condition. */
const KINDS = [
  ...['empty', 'meta', 'fromTypedArray', 'cat', 'to', 'view', 'expand', 'asStrided', 'storage', 'detach', 'split'],
  ...['add_', 'copy_', 'resize_', 'out=', 'out= that fails', 'set_ to a tensor', 'set_ to a storage', 'set_data'],
  ...['leaf', 'mul in a graph', 'backward', 'backward with a gradient', 'read grad', 'set grad', 'embedding'],
  ...['toSparse', 'coalesce', 'add_ of coo', 'toSparseCsr', 'scope', 'openScope', 'closeScope', 'move', 'async scope'],
  ...['dispose', 'dispose again', 'disposeAll', 'keep', 'drop', 'collect', 'bad shape', 'no such memory'],
  ...['meta resize_', 'share', 'fromShared', 'dispose of a token', 'fromShared after dispose', 'write through a token'],
  ...[
    'take',
    'take in a scope',
    'throw in a scope',
    'keep a token',
    'read a message',
    'take a kept token',
    'make',
    'op',
  ]
    .concat(['write', 'resize_', 'set_ to a tensor', 'backward', 'share', 'dispose', 'drop', 'fromTypedArray'])
    .map((name) => `there: ${name}`),
  ...['stop', 'what V8 is told', 'drop of a token'],
];

const chosen = process.env.LIBTORCH_NODE_SEED;

if (chosen !== undefined) {
  const replay = process.env.LIBTORCH_NODE_PATH;
  test(`again: seed ${chosen}`, async () => {
    await steps(Number(chosen), STEPS, replay === undefined ? [] : [replay]);
  }, 600_000);
} else {
  const seen = new Set<string>();
  const isGiven = (name: string) => process.env[name] === '1';
  const seeds = [
    ...(isGiven('LTN_AGAIN') ? [] : [20_261]),
    ...(isGiven('LTN_AGAIN') || isGiven('LTN_FIRST') ? [] : [77_003, 5_550_001]),
    ...(isGiven('LTN_FIRST') ? [] : [randomInt(2 ** 30)]),
  ];
  test.each(seeds)(
    `${STEPS} random steps from seed %i: every figure equals the model's, nothing is leaked`,
    async (seed) => {
      const { steps: done, widest, kinds, before, after } = await steps(seed, STEPS);
      expect(done).toBeGreaterThanOrEqual(STEPS);
      expect(widest).toBeLessThanOrEqual(2 ** 20);
      for (const kind of Object.keys(kinds)) seen.add(kind);
      expect({ before, after }).toEqual({ before: NOTHING, after: NOTHING });
    },
    600_000,
  );

  // In so many steps; it is a check of the steps' own conditions.
  if (!isGiven('LTN_AGAIN')) {
    test('every kind of step occurred', () => {
      expect(KINDS.filter((kind) => !seen.has(kind))).toEqual([]);
    });
  }
}
