/**
 * Measures the rates of docs/verdicts.md, outside the tests:
 *
 *   node test/corpus/support/rates.mjs --mode full|sample|attach [--end exit|drain|sigterm|sigkill|crash|each]
 *     [--out FOLDER] [--at-once 2] [--only PATTERN] [--judge]
 *
 * `--end each`: the programs take turns. `--judge` only judges the captures that an earlier run left in the folder.
 */
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { parseArgs } from 'node:util';
import { exactInterval } from './interval.mjs';

const { values: options } = parseArgs({
  options: {
    mode: { type: 'string', default: 'full' },
    end: { type: 'string', default: 'exit' },
    out: { type: 'string', default: 'corpus-captures' },
    'at-once': { type: 'string', default: '2' },
    only: { type: 'string', default: '.' },
    judge: { type: 'boolean', default: false },
    arg: { type: 'string', multiple: true, default: [] },
  },
});
const here = path.dirname(path.dirname(import.meta.filename ?? new URL(import.meta.url).pathname));
const root = path.join(here, '..', '..');
const cli = path.join(root, 'dist/cli/leak-audit.js');
const preload = path.join(here, 'support/end.cjs');
/** Between attempts to attach to a program that is starting. */
const RETRY_MS = 100;
const RECORDING = ['--quiet', '--interval', '25ms', ...options.arg];

const programs = ['leaks', 'more/leaks', 'non-leaks', 'more/non-leaks'].flatMap((folder) =>
  fs
    .readdirSync(path.join(here, folder))
    .filter((name) => /\.[cm]js$/.test(name) && new RegExp(options.only).test(`${folder}/${name}`))
    .sort()
    .map((name, turn) => {
      const file = path.join(here, folder, name);
      return { kind: path.basename(folder), name: path.parse(name).name, file, turn };
    }),
);

const ended = (child) => new Promise((resolve) => child.on('close', (code, signal) => resolve(signal ?? code)));
const node = (args, env = {}) =>
  spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'ignore'], env: { ...process.env, ...env } });

const ENDS = ['exit', 'drain', 'sigterm', 'sigkill', 'crash'];

async function record({ file, turn }, capture, json) {
  const program = ['-r', preload, file];
  const env = { CORPUS_END: options.end === 'each' ? ENDS[turn % ENDS.length] : options.end };
  const files = ['-o', capture, '--json', json];
  if (options.mode !== 'attach') {
    await ended(
      node([cli, 'run', ...RECORDING, '--mode', options.mode, ...files, '--', process.execPath, ...program], env),
    );
    return;
  }
  const audited = node(program, env);
  let isOver = false;
  const done = ended(audited).then(() => {
    isOver = true;
  });
  while (!isOver && !fs.existsSync(json)) {
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    await ended(node([cli, 'attach', String(audited.pid), ...RECORDING, ...files]));
  }
  await done;
}

async function judged(program) {
  const base = path.join(options.out, program.name);
  const [capture, json] = [`${base}.cap`, `${base}.json`];
  if (!options.judge) {
    for (const file of [capture, json]) fs.rmSync(file, { force: true });
    await record(program, capture, json);
  } else await ended(node([cli, 'report', capture, '--json', json]));
  const marked = fs
    .readFileSync(program.file, 'utf8')
    .split('\n')
    .findIndex((line) => line.endsWith('// LEAK'));
  if (!fs.existsSync(json)) return { ...program, verdict: 'none', first: '-', right: false };
  const { verdict, summary, sites } = JSON.parse(fs.readFileSync(json, 'utf8'));
  const [site] = sites;
  const first = site === undefined ? '-' : `${path.basename(site.file)}:${site.line} ${site.kind}`;
  const right =
    site?.file === program.file && site.line === marked + 1 && site.verdict !== 'cache' && site.verdict !== 'steady';
  return { ...program, verdict, why: summary.insufficient, first, right };
}

fs.mkdirSync(options.out, { recursive: true });
const rest = [...programs];
const results = [];
await Promise.all(
  Array.from({ length: Number(options['at-once']) }, async () => {
    for (let program = rest.shift(); program !== undefined; program = rest.shift()) results.push(await judged(program));
  }),
);
results.sort(
  (a, b) => programs.findIndex(({ name }) => name === a.name) - programs.findIndex(({ name }) => name === b.name),
);

const share = (name, k, n) => {
  const [low, high] = exactInterval(k, n);
  const percent = (value) => `${(100 * value).toFixed(1)}%`;
  return `${name}: ${k} of ${n} (${percent(low)}–${percent(high)})\n`;
};
const [leaks, nonLeaks] = ['leaks', 'non-leaks'].map((wanted) => results.filter(({ kind }) => kind === wanted));
for (const { kind, name, verdict, why, first, right } of results) {
  const good = kind === 'leaks' ? verdict === 'leak' && right : verdict === 'clean';
  const note = good
    ? ''
    : kind === 'non-leaks'
      ? verdict === 'leak'
        ? 'ALARM'
        : 'unsure'
      : right
        ? 'unsure'
        : verdict === 'clean'
          ? 'MISSED'
          : 'WRONG LINE';
  process.stdout.write(`| ${name} | ${verdict}${why ? ` (${why})` : ''} | ${first} | ${note} |\n`);
}
const count = (all, wanted) => all.filter(wanted).length;
process.stdout.write(
  share(
    'verdict leak',
    count(leaks, ({ verdict }) => verdict === 'leak'),
    leaks.length,
  ) +
    share(
      'verdict leak and right line',
      count(leaks, ({ verdict, right }) => verdict === 'leak' && right),
      leaks.length,
    ) +
    share(
      'right line, leak or insufficient',
      count(leaks, ({ right }) => right),
      leaks.length,
    ) +
    share(
      'CLEAN on a leak',
      count(leaks, ({ verdict }) => verdict === 'clean'),
      leaks.length,
    ) +
    share(
      'false alarms',
      count(nonLeaks, ({ verdict }) => verdict === 'leak'),
      nonLeaks.length,
    ) +
    share(
      'non-leaks not clean',
      count(nonLeaks, ({ verdict }) => verdict !== 'clean'),
      nonLeaks.length,
    ),
);
