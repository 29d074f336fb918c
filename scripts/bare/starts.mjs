/**
 * The first `require` of libtorch-node with npm's libtorch, against the one with the system's libtorch of the same version: in the
 * root of `npm run matrix` for the release that the package is made from, both from the same installed libtorch-node. Each start is a
 * new process, and the two take turns. A figure is printed, and none is judged.
 *
 *   node starts.mjs LIBTORCH ROUNDS    in the folder of an app: prints the times, as that is how it runs inside
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(import.meta.url);
/** Of the time with the system's libtorch. */
const GOAL = 1.2;

/** What is timed, without the start of Node: wall and processor time in ms, and which libtorch it was. */
const program = `
  const before = [performance.now(), process.cpuUsage()];
  require('libtorch-node');
  const { user, system } = process.cpuUsage(before[1]);
  const wall = performance.now() - before[0];
  const lib = require('node:fs').readFileSync('/proc/self/maps', 'utf8').match(/\\S*libtorch_cpu\\.so\\S*/)[0];
  console.log(JSON.stringify({ wall, cpu: (user + system) / 1000, lib }));`;

function startOnce(more) {
  const { LIBTORCH, LIBTORCH_LIB, LIBTORCH_USE_PYTORCH, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program], {
    env: { ...env, ...more },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`a start ended with status ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

/** @param {string} libtorch of npm @param {number} rounds */
function measure(libtorch, rounds) {
  const kinds = { system: {}, npm: { LIBTORCH: libtorch } };
  const taken = { system: [], npm: [] };
  // The first round fills the file cache and is not counted.
  for (let round = -1; round < rounds; round++) {
    for (const [kind, more] of Object.entries(kinds)) {
      const figures = startOnce(more);
      if (figures.lib.includes('/node_modules/') !== (kind === 'npm'))
        throw new Error(`expected the libtorch of ${kind}, got ${figures.lib}`);
      if (round >= 0) taken[kind].push(figures);
    }
  }
  return taken;
}

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
};

/** The lines to print. @param {{ system: { wall: number, cpu: number }[], npm: { wall: number, cpu: number }[] }} taken */
export function reportOf({ system, npm }) {
  const medians = (name) => [system, npm].map((starts) => median(starts.map((start) => start[name])));
  const [wall, cpu] = [medians('wall'), medians('cpu')];
  const line = (index) => `${Math.round(wall[index])} ms, ${Math.round(cpu[index])} ms of processor time`;
  const ratio = ([of, to]) => (to / of).toFixed(2);
  return [
    `system's libtorch: ${line(0)}`,
    `npm's libtorch: ${line(1)}`,
    `npm's against the system's, medians of ${npm.length} starts in turn: ${ratio(wall)} of the time, ${ratio(cpu)} of the processor time; the goal is at most ${GOAL}`,
  ];
}

/**
 * @param {object} what
 * @param {string} what.root of a system that has the libtorch of that release
 * @param {string} what.node a binary of Node
 * @param {string[]} what.packages to install: libtorch-node and its libtorch
 * @param {number} what.rounds
 * @param {(command: string) => Promise<number>} what.runInside a command of the shell in the root
 * @returns {Promise<string[]>} the lines to print
 */
export async function timeStarts({ root, node, packages: [own, libtorch], rounds, runInside }) {
  const folder = path.join(root, 'srv/starts');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(node, path.join(folder, 'node'));
  cpSync(script, path.join(folder, 'starts.mjs'));
  writeFileSync(path.join(folder, 'package.json'), '{ "name": "app", "version": "1.0.0", "private": true }\n');
  const command = [
    'cd /srv/starts',
    `npm install --ignore-scripts --no-audit --no-fund ${own} ${libtorch} >&2`,
    `./node starts.mjs "$PWD/node_modules/${libtorch}" ${rounds} > times.json`,
  ];
  const status = await runInside(command.join(' && '));
  if (status !== 0) throw new Error(`the starts ended with status ${status}`);
  const taken = JSON.parse(readFileSync(path.join(folder, 'times.json'), 'utf8'));
  rmSync(folder, { recursive: true });
  return reportOf(taken);
}

if (process.argv[1] === script) {
  const [libtorch, rounds] = process.argv.slice(2);
  console.log(JSON.stringify(measure(libtorch, Number(rounds))));
}
