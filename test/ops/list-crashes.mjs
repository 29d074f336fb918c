/**
 * node test/ops/list-crashes.mjs, after a build for another libtorch: finds the calls of call-all.cjs that crash the
 * process, checks whether they crash PyTorch too, and prints the list for test/ops/known-crashes/libtorch-<release>.json.
 * Calls that only crash our process go to stderr, because those are our bugs.
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const lib = path.resolve(here, '../../dist/lib');
const child = path.join(here, 'call-all.cjs');
const { raw } = createRequire(import.meta.url)(path.join(lib, 'generated/raw.js'));
const keys = Object.entries(raw.aten).flatMap(([name, overloads]) => Object.keys(overloads).map((o) => `${name}.${o}`));

/** A debugging malloc detects writes past the end of a block at once, not in a later call. */
const env = { ...process.env, LD_PRELOAD: 'libc_malloc_debug.so.0', MALLOC_CHECK_: '3' };

function run(command, args, input = '') {
  return new Promise((resolve) => {
    const started = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    const out = { stdout: '', stderr: '', signal: null };
    for (const name of ['stdout', 'stderr']) started[name].on('data', (data) => (out[name] += data));
    started.once('close', (_, signal) => resolve({ ...out, signal }));
    started.stdin.end(input);
  });
}
const callAll = (options) => run(process.execPath, ['--expose-gc', child, lib, JSON.stringify(options)]);

/** "at::native::batch_norm_cpu_out": the first function of the library in the trace that Node or libtorch prints. */
const placeOf = (stderr) => stderr.match(/_ZN2at6native(\d+)(\w+)/)?.slice(1);
const nameOf = (place) => (place === undefined ? 'libtorch' : `at::native::${place[1].slice(0, Number(place[0]))}`);

async function crashesOf(first, end) {
  const crashes = [];
  for (let at = first; at < end; ) {
    const { stdout, stderr, signal } = await callAll({ first: at, end, skip: crashes.map(({ op }) => op) });
    const last = stdout.trimEnd().split('\n').at(-1);
    const [, row, call] = /^> (\d+) (.*)$/.exec(last) ?? [];
    if (call === undefined) {
      if (!last.startsWith('end ')) throw new Error(`no call is named: ${stderr}`);
      break;
    }
    crashes.push({
      call,
      op: call.split(' ')[0],
      row: Number(row),
      reason: `${signal ?? 'an exit'} in ${nameOf(placeOf(stderr))}`,
    });
    process.stderr.write(`${call}: ${crashes.at(-1).reason}\n`);
    at = Number(row) + 1; // one call of an op is enough
  }
  return crashes;
}

const middle = keys.findIndex((key) => key.startsWith('f'));
const crashes = (await Promise.all([crashesOf(0, middle), crashesOf(middle, keys.length)])).flat();
const lines = [];
for (const { call, row } of crashes) {
  const { stdout } = await callAll({ first: row, end: row + 1, only: [call], describe: true });
  lines.push(JSON.stringify({ ...JSON.parse(stdout.split('\n').find((line) => line.startsWith('{'))), call }));
}
const { stdout } = await run('/usr/bin/python3', [path.join(here, 'crash_oracle.py')], `${lines.join('\n')}\n`);
const ends = new Map(
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => Object.values(JSON.parse(line))),
);

const ops = crashes.map(({ call, op, reason }) => {
  const agrees = ['crash', 'hang'].includes(ends.get(call));
  if (!agrees) process.stderr.write(`ONLY OURS: ${call}: in PyTorch a ${ends.get(call)}\n`);
  return { op, calls: agrees ? [Number(call.split(' ')[1])] : [], reason };
});
console.log(JSON.stringify({ ops }, null, 2));
