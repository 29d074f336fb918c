/** examples/distributed: a rank of Node and one of PyTorch end with the same weights; torchrun starts ranks that continue. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { ROOT } from '../support/torch';
import { freePort } from './ddp/ranks';
import { hasTorchrun } from './ranks';

jest.setTimeout(240_000);

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

const ifTorchrun = hasTorchrun() ? test : test.skip;

ifTorchrun('launch/torchrun.sh starts ranks, which continue with the checkpoint', async () => {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'torchrun-'));
  try {
    const start = async (epochs: string) => {
      const env = {
        ...process.env,
        ...{ CHECKPOINT: path.join(made, 'digits.pt'), MASTER: `127.0.0.1:${await freePort()}`, OMP_NUM_THREADS: '1' },
      };
      const script = path.join(folder, 'launch/torchrun.sh');
      const { code, stdout, stderr } = await run('sh', [script, '--epochs', epochs, '--steps', '3'], { env });
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
      return stdout;
    };
    const [a, b] = weights(await start('1'));
    expect(b).toBe(a);
    const again = await start('2');
    expect(again).toMatch(/rank 1: continues after epoch 1/);
    expect(weights(again)[0]).not.toBe(a);
  } finally {
    fs.rmSync(made, { recursive: true, force: true });
  }
});
