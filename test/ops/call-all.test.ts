/**
 * Calls every op with valid-looking arguments in child processes: a result or an error with a code, never a crash; and
 * afterwards every count has its old value. test/ops/known-crashes lists the calls that crash PyTorch; they are errors here.
 */
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { run } from '../support/child';
import { release } from '../support/release';
import { ordinaryEnv } from '../support/sanitized';
import { rows } from '../support/signatures';
import { LIB } from '../support/torch';

interface Known {
  ops: { op: string; calls: number[]; reason: string }[];
}

interface Report {
  key: string;
  ok: number;
  errors: number;
  faults: string[];
}

const CHILD = path.join(__dirname, 'call-all.cjs');
const known = JSON.parse(readFileSync(path.join(__dirname, `known-crashes/libtorch-${release}.json`), 'utf8')) as Known;

const child = (options: object, env = process.env) =>
  run(process.execPath, ['--expose-gc', CHILD, LIB, JSON.stringify(options)], { env, limitMs: 240_000 });

/** Runs a range of ops; after a crash it continues after the call that crashed. */
async function callRange(first: number, end: number) {
  const reports: Report[] = [];
  const crashes: string[] = [];
  const ends: string[] = [];
  const skip: string[] = [];
  for (let at = first; at < end && crashes.length < 20; ) {
    const { stdout, stderr, signal, code } = await child({ first: at, end, skip });
    const lines = stdout.trimEnd().split('\n');
    reports.push(...lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Report));
    const last = lines[lines.length - 1]!;
    if (last.startsWith('end ')) {
      ends.push(last);
      break;
    }
    const [, row, call] = /^> (\d+) (.*)$/.exec(last) ?? [];
    crashes.push(`${call ?? 'at the start'}: ${signal ?? `exit code ${code}`}\n${stderr.slice(-2000)}`);
    if (call === undefined) break;
    skip.push(call);
    at = Number(row);
  }
  return { reports, crashes, ends };
}

let results: { reports: Report[]; crashes: string[]; ends: string[] };
beforeAll(async () => {
  const middle = rows.findIndex(({ key }) => key.startsWith('f'));
  const parts = await Promise.all([callRange(0, middle), callRange(middle, rows.length)]);
  results = {
    reports: parts.flatMap(({ reports }) => reports),
    crashes: parts.flatMap(({ crashes }) => crashes),
    ends: parts.flatMap(({ ends }) => ends),
  };
}, 240_000);

test('calls do not crash the process', () => {
  expect(results.crashes).toEqual([]);
  expect(new Set(results.reports.map(({ key }) => key)).size).toBe(rows.length);
});

test('every failure has a code, valid arguments are accepted, and every byte is counted and freed', () => {
  expect(results.reports.flatMap(({ faults }) => faults)).toEqual([]);
  expect(results.ends).toEqual(Array(2).fill('end 0 tensors, 0 storages, 0 bytes'));
});

test('most ops return a result for some of the arguments', () => {
  const succeeded = results.reports.filter(({ ok }) => ok > 0).length;
  expect(succeeded).toBeGreaterThan(release === '1.13' ? 2100 : rows.length * 0.7);
});

test('every listed call crashes Python, and is an error here', async () => {
  const calls = known.ops.flatMap(({ op, calls: list }) => list.map((variant) => `${op} ${variant}`));
  const made = (await child({ only: calls })).stdout.split('\n').filter((text) => text.startsWith('{'));
  const counts = made.map((text) => JSON.parse(text) as Report).filter(({ ok, errors }) => ok + errors > 0);
  expect(counts.reduce((sum, { errors }) => sum + errors, 0)).toBe(calls.length);
  const described = await child({ only: calls, describe: true }, ordinaryEnv());
  const byCall = new Map(
    described.stdout
      .split('\n')
      .filter((text) => text.startsWith('{'))
      .map((text) => [JSON.parse(text).call as string, text]),
  );
  const lines = calls.map((call) => {
    const line = byCall.get(call);
    if (line === undefined) throw new Error(`no arguments for ${call}: ${described.stderr}`);
    return line;
  });
  // A debugging malloc detects writes past the end of a block at once, not in a later call.
  const { stdout, stderr, code } = await run('/usr/bin/python3', [path.join(__dirname, 'crash_oracle.py')], {
    input: `${lines.join('\n')}\n`,
    env: { ...ordinaryEnv(), LD_PRELOAD: 'libc_malloc_debug.so.0', MALLOC_CHECK_: '3' },
  });
  if (code !== 0) throw new Error(`the PyTorch oracle failed: ${stderr}`);
  const ends = stdout
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text));
  const ended = ends.map(({ call, end }) => ({ call, end: end === 'hang' ? 'crash' : end }));
  expect(ended).toEqual(calls.map((call) => ({ call, end: 'crash' })));
}, 240_000);
