/** examples/distributed: a rank of Node and one of PyTorch end with the same weights; torchrun starts ranks that continue. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { startProgram } from '../support/program';
import { ROOT } from '../support/torch';
import { freePort } from './ddp/ranks';
import { torchrunHasAddress } from './ranks';

jest.setTimeout(480_000);

const folder = path.join(ROOT, 'examples/distributed');
const few = ['--epochs', '1', '--steps', '3'];

/** What each rank says of its weights. */
const weights = (stdout: string) =>
  [...stdout.matchAll(/rank (\d): weights (-?\d+\.\d{12})$/gm)].map(([, , sum]) => sum);

test('run.mjs --python 1', async () => {
  const env = { ...process.env, PYTHON: '/usr/bin/python3', USE_LIBUV: '0' };
  const args = [path.join(folder, 'run.mjs'), '--ranks', '2', '--python', '1', ...few];
  const { code, stdout, stderr } = await run(process.execPath, args, { env });
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  const [a, b, ...more] = weights(stdout);
  expect([b, more]).toEqual([a, []]);
  expect(stdout).toMatch(/rank 0: 2 ranks read \d+\.\d % of 1670 new digits/);
});

test('run.mjs ends all ranks with one that fails, and refuses a wrong number of ranks', async () => {
  const script = path.join(folder, 'run.mjs');
  const failed = await run(process.execPath, [script, '--ranks', '2', '--epocs', '1']);
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringMatching(/rank \d ended with status 1/)]);
  const refused = await run(process.execPath, [script, '--ranks', '0']);
  expect([refused.code, refused.stderr]).toEqual([
    2,
    'expected --ranks N with N of 1 or more, and --python from 0 to N\n',
  ]);
});

const hasAddress = torchrunHasAddress();

const script = path.join(folder, 'launch/torchrun.sh');
let meetings = 0;
const torchrunEnv = async (checkpoint: string) => ({
  ...process.env,
  ...(hasAddress
    ? { MASTER: `127.0.0.1:${await freePort()}` }
    : { MEETING_FILE: `${checkpoint}.${++meetings}`, ADDRESS: '127.0.0.1' }),
  ...{ CHECKPOINT: checkpoint, OMP_NUM_THREADS: '1' },
});

async function inFolder(work: (made: string) => Promise<void>): Promise<void> {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'torchrun-'));
  try {
    await work(made);
  } finally {
    fs.rmSync(made, { recursive: true, force: true });
  }
}

test('launch/torchrun.sh starts ranks, which continue with the checkpoint', () =>
  inFolder(async (made) => {
    const start = async (epochs: string) => {
      const env = await torchrunEnv(path.join(made, 'digits.pt'));
      const { code, stdout, stderr } = await run('sh', [script, '--epochs', epochs, '--steps', '3'], { env });
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
      return stdout;
    };
    const [a, b] = weights(await start('1'));
    expect(b).toBe(a);
    const again = await start('2');
    expect(again).toMatch(/rank 1: continues after epoch 1/);
    expect(weights(again)[0]).not.toBe(a);
  }));

/** The process of a rank in Node that torchrun has started with this checkpoint, once there is one. */
function processOf(rank: number, checkpoint: string): number | undefined {
  const wanted = [`RANK=${rank}`, `CHECKPOINT=${checkpoint}`];
  return fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .find((pid) => {
      try {
        const variables = fs.readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
        return wanted.every((each) => variables.includes(each));
      } catch {
        return false; // it has ended
      }
    });
}

test('torchrun starts all ranks again when one is killed, and they end with the same bits', () =>
  inFolder(async (made) => {
    const args = [script, '--epochs', '4', '--steps', '8'];
    const whole = await run('sh', args, { env: await torchrunEnv(path.join(made, 'whole.pt')) });
    const checkpoint = path.join(made, 'digits.pt');
    const killed = startProgram('sh', args, await torchrunEnv(checkpoint));
    let isOver = false;
    const over = killed.ended.then(() => {
      isOver = true;
    });
    // Not until it says so: torchrun of PyTorch 2 keeps the ranks' output back.
    while (!fs.existsSync(checkpoint) && !isOver) await new Promise((resolve) => setTimeout(resolve, 5));
    process.kill(processOf(1, checkpoint)!, 'SIGKILL');
    await over;
    const { code, stdout, stderr } = await killed.ended;
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    expect(stderr).toMatch(/rank 0: ERR_TORCH_(DISTRIBUTED|TIMEOUT)/);
    expect(stdout).toMatch(/rank 1: continues after epoch [1-3]/);
    expect(weights(stdout)).toEqual(weights(whole.stdout));
    expect(weights(stdout)).toHaveLength(2);
  }));
