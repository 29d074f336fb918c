/** The training example: a run that was killed continues to the same numbers, and a run without progress stops early. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { run, start } from './programs';

jest.setTimeout(240_000);

const PROGRAM = '../train/train.js';
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'train-'));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

/** The losses by epoch and step, as printed. */
const lossesOf = (stdout: string) => stdout.match(/^epoch .*loss \d+\.\d{6}/gm) ?? [];

/** Runs until a line is there, then kills it. No run ends by itself before. */
async function killedAt(line: RegExp, file: string): Promise<string> {
  const args = ['--epochs', '500', '--patience', '500', '--steps', '20', '--checkpoint', file];
  const program = start(PROGRAM, args, { OMP_NUM_THREADS: '1' });
  await program.shows(line);
  program.child.kill('SIGKILL');
  const { signal, stdout, stderr } = await program.ended;
  expect({ signal, stderr }).toEqual({ signal: 'SIGKILL', stderr: '' });
  return stdout;
}

test('killed in an epoch and started again, it prints the losses of a run that was not', async () => {
  const end = /^epoch 3: validation loss .*\n/m;
  const whole = lossesOf(await killedAt(end, path.join(folder, 'whole.pt')));
  const file = path.join(folder, 'killed.pt');
  const before = lossesOf(await killedAt(/^epoch 2, step 10 .*\n/m, file));
  const resumed = await killedAt(end, file);
  const saved = Number(/^continues after epoch (\d+)\n/.exec(resumed)?.[1]);
  expect(saved).toBeGreaterThan(0);
  const after = lossesOf(resumed);
  const expected = whole.slice(0, whole.findIndex((line) => line.startsWith('epoch 3:')) + 1);
  expect(expected).toHaveLength(9); // of each epoch: two steps, and the validation
  expect(before.slice(0, 4)).toEqual(expected.slice(0, 4));
  const continued = expected.slice(3 * saved);
  expect(after.slice(0, continued.length)).toEqual(continued);
});

test('without progress it stops early, and a loss that is not finite ends it with the number of the step', async () => {
  const [idle, wild] = await Promise.all([
    run(PROGRAM, ['--epochs', '9', '--patience', '1', '--rate', '0', '--steps', '2']),
    run(PROGRAM, ['--rate', '1e30', '--steps', '5']),
  ]);
  expect(idle).toMatchObject({ code: 0, stderr: '' });
  expect(idle.stdout).toMatch(
    /^epoch 1, step 2 .*\nepoch 1: .*\nepoch 2, step 2 .*\nepoch 2: .*\nthe net of epoch 1 reads [\d.]+ % of 1670 new digits\n$/,
  );
  expect(wild.code).toBe(1);
  expect(wild.stderr).toMatch(/expected a finite loss at step 2, got NaN/);
});

test('it is a program of at most 100 lines', () => {
  const examples = path.resolve(__dirname, '../../examples/train');
  const sources = fs.readdirSync(examples).filter((name) => name.endsWith('.ts'));
  const lines = sources.flatMap((name) => fs.readFileSync(path.join(examples, name), 'utf8').trimEnd().split('\n'));
  expect(lines.length).toBeLessThanOrEqual(100);
});
