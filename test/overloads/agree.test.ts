/**
 * Overloads are chosen as in PyTorch: some thousand calls over every signature of PyTorch's own argument parser are made on
 * both sides; the operators that ran and their results must be the same. `node test/overloads/agree.mjs` makes ten times as
 * many.
 */
import * as path from 'node:path';
import { run } from '../support/child';
import { release } from '../support/release';
import { ordinaryEnv } from '../support/sanitized';

/** The releases whose differences are all in differences.json. In another one of a hundred calls may have a new one. */
const WRITTEN_FOR = ['1.13', '2.6'];
const SEVERAL_MINUTES = 600_000;

test(
  'the same operators run as in PyTorch, with the same results',
  async () => {
    const args = [path.join(__dirname, 'agree.mjs'), '16'];
    const { stdout, stderr } = await run(process.execPath, args, { limitMs: SEVERAL_MINUTES, env: ordinaryEnv() });
    expect(stderr).toBe('');
    const lines = stdout.trimEnd().split('\n');
    const told = /^(\d+) calls: (\d+) taken by both agree, \d+ differ as explained, (\d+) unexplained$/.exec(
      lines.at(-1)!,
    );
    const [calls, agreed, unexplained] = told!.slice(1).map(Number) as [number, number, number];
    expect(calls).toBeGreaterThan(3000);
    expect(agreed).toBeGreaterThan(calls / 4);
    if (WRITTEN_FOR.includes(release))
      expect(lines.filter((line) => /^(refused|taken|operators|value): /.test(line))).toEqual([]);
    else expect(unexplained).toBeLessThan(calls / 100);
  },
  SEVERAL_MINUTES + 10_000,
);
