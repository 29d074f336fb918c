/**
 * The programs of scripts/bare/app on an installed package: what each shows, and the command in the folder of the app.
 *
 *   node scripts/bare/programs.mjs FOLDER [title…]    runs them there
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const cli = 'node node_modules/libtorch-node/dist/cli';
const audit = `${cli}/leak-audit.js run --quiet --interval 100ms`;
/** Ops, lifetimes and where libtorch was loaded from. */
export const core = 'node --expose-gc core.js';
export const doctor = `${cli}/libtorch-node.js doctor`;

/** @type {[title: string, command: string][]} */
export const programs = [
  ['core', core],
  ['module', 'node esm.mjs'],
  ['lifetimes', 'node --expose-gc lifetimes.js'],
  ['worker', 'node worker.js'],
  ['torch.distributed', 'node ranks.mjs'],
  [
    'leak-audit finds a leak',
    `(${audit} --json leak.json --check -- node leak.js leak; test $? = 1) && grep -q leak.js leak.json`,
  ],
  [
    'leak-audit finds no leak',
    `${audit} --json clean.json -- node leak.js &&
     node -e "const v = require('./clean.json').verdict; if (v === 'leak') throw new Error(v)"`,
  ],
  ['all symbols are resolved', 'LD_BIND_NOW=1 node esm.mjs'],
];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [cwd, ...titles] = process.argv.slice(2);
  const unknown = titles.filter((title) => !programs.some(([name]) => name === title));
  if (unknown.length > 0) throw new Error(`expected titles of scripts/bare/programs.mjs, got ${unknown.join(', ')}`);
  for (const [title, command] of programs.filter(([name]) => titles.length === 0 || titles.includes(name))) {
    const { status } = spawnSync('bash', ['-c', `set -o pipefail; ${command}`], { cwd, stdio: ['ignore', 2, 2] });
    console.log(status === 0 ? `✓ ${title}` : `✗ ${title}: exit status ${status}`);
    if (status !== 0) process.exitCode = 1;
  }
}
