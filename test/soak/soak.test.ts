/**
 * A few rounds of the soak, without a clock: everything at once, and then each process holds what its model says, to the byte.
 * `npm run soak -- --hours 2` is the long form (docs/reliability.md).
 */
import * as path from 'node:path';
import { withoutGloo } from '../distributed/ranks';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';

const SEED = 7;
const soak = (...args: string[]) =>
  run(process.execPath, [path.join(__dirname, 'soak.cjs'), '--seed', `${SEED}`, ...args], {
    env: ordinaryEnv(),
    limitMs: 280_000,
  });

test(
  'three rounds leave nothing behind, and end no process but the worker that is killed',
  async () => {
    const { code, stdout, stderr } = await soak('--rounds', '3', '--units', '1');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`3 rounds, seed ${SEED}: no failure.`);
    const rows = stdout.split('\n').filter((line) => /^\| .* \| 3 \| \d+ \| [\d,]+ \| 0 \| /.test(line));
    expect(rows.length).toBe(6);
    expect(stdout).toContain('workers killed: 1');
    expect(stdout).toMatch(/^- attach: .*recordings: \d/m);
  },
  limitMs(300_000),
);

const ranks = (...args: string[]) =>
  run(process.execPath, [path.join(__dirname, 'ranks.cjs'), '--steps', '32', '--reduces', '2', ...args], {
    env: { ...ordinaryEnv(), OMP_NUM_THREADS: '1' },
    limitMs: 280_000,
  });

test(
  'ranks hold the same after each step of DistributedDataParallel',
  async () => {
    const { code, stdout, stderr } = await ranks();
    expect({ code, stderr: withoutGloo(stderr) }).toEqual({ code: 0, stderr: '' });
    const held = stdout
      .split('\n')
      .filter((line) => /^\| [01] \| (true|false) \| \d+ tensors, [^;]* bytes \|/.test(line));
    expect(held).toHaveLength(4);
    expect(stdout).toMatch(/\nno failure\n$/);
  },
  limitMs(300_000),
);

test(
  'a rank that keeps one tensor for each step is a failure',
  async () => {
    const { code, stderr } = await ranks('--plant', 'leak');
    expect(code).toBe(1);
    expect(withoutGloo(stderr)).toBe('rank 1: 22 different states after a step\n'.repeat(2));
  },
  limitMs(300_000),
);

test(
  'a delay of the event loop is a failure where a limit is asked for',
  async () => {
    const { code, stderr } = await ranks('--reduces', '40', '--most-delay', '0.001');
    expect(code).toBe(1);
    const line = /^rank [01]: the event loop's delay has p99 [\d.]+ ms, expected less than 0\.001$/;
    const lines = withoutGloo(stderr).trimEnd().split('\n');
    expect(lines).toEqual(Array(4).fill(expect.stringMatching(line)));
  },
  limitMs(300_000),
);

test(
  'a training that keeps one tensor for each step is a failure',
  async () => {
    const { code, stdout, stderr } = await soak('--rounds', '1', '--units', '1', '--plant', 'leak');
    expect(code).toBe(1);
    const found = 'training: expected 24 tensors of 226800 bytes, got 34 of 226840';
    expect(stderr.trimEnd()).toBe(`round 0: ${found}`);
    expect(stdout).toContain(`seed ${SEED}: 1 failures.`);
  },
  limitMs(300_000),
);
