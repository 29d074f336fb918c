/** Captures with an abnormal end: kills, full disks. With the built command and the built addon. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Flag, fileHeader } from '../../cli/capture/format';
import { CaptureFollower, readCapture } from '../../cli/capture/reader';
import { run as started } from '../support/child';
import { auditProgram, CLI, fixture, leakAudit } from './command';

const TIMEOUT_MS = 600_000;
jest.setTimeout(TIMEOUT_MS);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'audit-survival-'));
afterAll(() => fs.rmSync(folder, { recursive: true }));

describe('SIGKILL', () => {
  const KILLS = Number(process.env.LTN_KILLS ?? 20);
  const AT_ONCE = 4;
  const seed = Number(process.env.LIBTORCH_NODE_SEED ?? Date.now() % 2 ** 31);
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };

  /** Kills a recorded program `ms` after it started to work (negative: before). Returns the file just before and after. */
  async function kill(number: number, ms: number) {
    const file = path.join(folder, `killed-${number}`);
    fs.writeFileSync(file, fileHeader(Flag.reserved));
    const wish = JSON.stringify({ file, intervalMs: 50, mode: 'full' });
    const program = spawn(process.execPath, [fixture('survivors.cjs'), '1000000'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, LIBTORCH_NODE_AUDIT: wish },
    });
    const ready = once(program.stdout, 'data');
    if (ms >= 0) await ready;
    await new Promise((resolve) => setTimeout(resolve, Math.abs(ms)));
    const follower = new CaptureFollower(file);
    follower.poll();
    follower.close();
    program.kill('SIGKILL');
    const [, signal] = await once(program, 'exit');
    return { signal, before: follower.capture.ticks.length, ready: ms >= 0, capture: readCapture(file) };
  }

  test(
    `${KILLS} kills at random times (LIBTORCH_NODE_SEED=${seed}) leave readable captures without losses`,
    async () => {
      const times = Array.from({ length: KILLS }, () => random() * 1500 - 500);
      const results: Awaited<ReturnType<typeof kill>>[] = [];
      for (let i = 0; i < KILLS; i += AT_ONCE) {
        results.push(...(await Promise.all(times.slice(i, i + AT_ONCE).map((ms, k) => kill(i + k, ms)))));
      }
      for (const { signal, before, ready, capture } of results) {
        expect(signal).toBe('SIGKILL');
        expect(capture.lost).toBe(0);
        expect(capture.ticks.length).toBeGreaterThanOrEqual(before);
        expect(capture.end).toBeUndefined();
        if (ready) expect(capture.start?.mode).toBe('full');
        const rows = [...capture.series.values()].reduce((sum, one) => sum + (one.liveTensors.at(-1) ?? 0), 0);
        // The births match the rows, except tensors made while the round was assembled.
        const births = [...capture.liveTensors()].length;
        expect(Math.abs(rows - births)).toBeLessThanOrEqual(50);
      }
      expect(results.reduce((sum, { capture }) => sum + capture.ticks.length, 0)).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});

describe('no space', () => {
  /** The run reports the loss, and `check` of its capture fails. */
  const check = async (file: string, run: { code: number | null; stderr: string }) => {
    expect(run.stderr).toMatch(
      /the disk was full, or the file could not grow \(ulimit -f\): (the last round that could be written is at|no round could)/,
    );
    expect(run.code).toBe(0); // the program's own status: a leak was not found
    const checked = await leakAudit('check', file);
    expect(checked.stdout).toMatch(/lost: /);
    expect(checked.code).toBe(4);
    expect(readCapture(file).tornBytes).toBe(0);
  };

  test(
    'a file size limit (RLIMIT_FSIZE): the program continues, and the loss is reported',
    async () => {
      const file = path.join(folder, 'limited.ltna');
      const program = `ulimit -f 64; exec node ${fixture('survivors.cjs')} 5000`; // 5,000 births take 240 kB
      const run = await auditProgram('run', '--quiet', '--check', '-o', file, '--', 'bash', '-c', program);
      expect(run.stdout).toMatch(/ready \d+/);
      await check(file, run);
    },
    TIMEOUT_MS,
  );

  test('a limit that no round fits under: the sentence does not say that the program ended', async () => {
    const file = path.join(folder, 'tiny.ltna');
    const program = `ulimit -f 1; exec node ${fixture('survivors.cjs')} 5000`;
    const { stdout } = await auditProgram('run', '--quiet', '-o', file, '--', 'bash', '-c', program);
    expect(stdout).toContain('INSUFFICIENT  no round could be written: the disk is full, or the file may not grow');
  });

  test(
    'a full disk: the same (on a small file system of its own where mounting is allowed)',
    async () => {
      const disk = path.join(folder, 'disk');
      fs.mkdirSync(disk);
      const mount = `mount -t tmpfs -o size=64k none '${disk}'`;
      const canMount = spawnSync('unshare', ['-m', 'sh', '-c', mount]).status === 0;
      const file = path.join(disk, 'c.ltna');
      const copy = path.join(folder, 'copy.ltna');
      const limit = canMount ? mount : 'ulimit -f 64';
      const run = `'${process.execPath}' '${CLI}' run --quiet --check -o '${file}' -- node '${fixture('survivors.cjs')}' 5000`;
      const line = `${limit} || exit 99; ${run}; status=$?; ulimit -f unlimited 2>/dev/null; cp '${file}' '${copy}'; exit $status`;
      const outcome = await started('unshare', [...(canMount ? ['-m'] : ['--']), 'bash', '-c', line]);
      await check(copy, outcome);
    },
    TIMEOUT_MS,
  );

  test('an unwritable folder is reported before the program runs', async () => {
    const { code, stdout, stderr } = await auditProgram(
      'run',
      '-o',
      '/proc/x.ltna',
      '--',
      'node',
      '-e',
      'console.log(1)',
    );
    expect(stderr).toMatch(/cannot write \/proc\/x\.ltna/);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  test(
    'a process that cannot reach its capture reports that, and continues',
    async () => {
      const wish = JSON.stringify({ file: path.join(folder, 'no', 'such', 'folder') });
      const env = { ...process.env, LIBTORCH_NODE_AUDIT: wish };
      const { code, stderr } = await started(process.execPath, [fixture('transparent.cjs'), 'torch', '7'], { env });
      expect(stderr).toMatch(/^leak-audit: this process is not recorded: cannot create .*No such file/);
      expect(code).toBe(7);
    },
    TIMEOUT_MS,
  );
});

test(
  'the folder of the capture is removed meanwhile: the report is complete, and the status is the program’s',
  async () => {
    const gone = path.join(folder, 'gone');
    fs.mkdirSync(gone);
    const program = `require('${fixture('leaky.cjs')}'); require('node:fs').rmSync('${gone}', { recursive: true }); process.exitCode = 7;`;
    const options = ['run', '--quiet', '-o', path.join(gone, 'app.ltna')];
    const { code, stdout, stderr } = await auditProgram(...options, '--', process.execPath, '-e', program, '', '5');
    expect({ code, stderr }).toEqual({ code: 7, stderr: '' });
    expect(stdout).toMatch(/leaky\.cjs:\d+/);
  },
  TIMEOUT_MS,
);

test('an internal error is one line and status 70', async () => {
  const broken = path.join(folder, 'broken.cjs');
  fs.writeFileSync(broken, 'process.stdout.write = () => { throw new TypeError("boom\\n  and more"); };');
  const file = path.join(folder, 'reserved.ltna');
  fs.writeFileSync(file, fileHeader(Flag.reserved));
  const { code, stderr } = await started(process.execPath, ['-r', broken, CLI, 'check', file]);
  expect(stderr).toBe('leak-audit: internal error: TypeError: boom and more\n');
  expect(code).toBe(70);
});

test.each([
  ['EMFILE', 'too many files are open in this process: raise the limit (ulimit -n)'],
  ['EAGAIN', 'no more processes may be started: raise the limit (ulimit -u)'],
])('doctor cannot start a process (%s): one line that names the limit, and status 2', async (code, why) => {
  // Like Node's, without streams and with an event that comes later.
  const failing = path.join(folder, `${code}.cjs`);
  const error = `Object.assign(new Error('spawn ${code}'), { code: '${code}', syscall: 'spawn node' })`;
  const child = `const child = new (require('node:events'))(); process.nextTick(() => child.emit('error', ${error}));`;
  fs.writeFileSync(failing, `require('node:child_process').fork = () => { ${child} return child; };`);
  const doctor = path.join(path.dirname(CLI), 'libtorch-node.js');
  expect(await started(process.execPath, ['-r', failing, doctor, 'doctor'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: `libtorch-node: ${why}\n`,
  });
});
