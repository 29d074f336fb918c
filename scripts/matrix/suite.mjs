/** Runs the whole suite inside a root, from a copy of the checkout, and reports the versions it ran on. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from '../paths.mjs';
import { StepError } from '../steps/errors.mjs';
import { ensureNpmPackages } from '../steps/npm.mjs';
import { copyCheckout } from './checkout.mjs';
import { npmPackages, withNpm } from './npm.mjs';
import { ensureRoot, requireMachine } from './roots.mjs';
import { runInside } from './run-in-root.mjs';

const place = '/checkout';

/** Some tests list the files of the checkout with git. */
function makeRepository(folder) {
  for (const args of [
    ['init', '--quiet'],
    ['add', '--all'],
  ]) {
    const { status, stderr } = spawnSync('git', args, { cwd: folder, encoding: 'utf8' });
    if (status !== 0) throw new StepError(`git ${args[0]} failed in ${folder}: ${stderr}`);
  }
}

/** Makes the root of a release, with all that the suite needs, if it does not exist. @returns {Promise<string>} its folder */
export async function prepareRoot(release, { fresh = false } = {}) {
  await requireMachine();
  return ensureRoot(release, { fresh, more: npmPackages() });
}

/**
 * Runs a command in the copy of the checkout inside the root of a release, which it makes if necessary.
 * @param {string} release
 * @param {string[]} command
 * @param {{ fresh?: boolean, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<{ status: number, copy: string }>} exit status, and the copy's path outside the root
 */
export async function runInCopy(release, command, { fresh = false, env = {} } = {}) {
  const root = await prepareRoot(release, { fresh });
  await ensureNpmPackages();
  const copy = path.join(root, place);
  copyCheckout(copy);
  makeRepository(copy);
  // A build killed there leaves its lock, with a process number of another namespace.
  rmSync(path.join(copy, 'build/.lock'), { force: true });
  mkdirSync(path.join(copy, 'node_modules'), { recursive: true });
  const status = await withNpm(root, ({ mounts, env: npmEnv }) => {
    mounts.push([inRoot('node_modules'), `${place}/node_modules`]);
    return runInside({ root, mounts, cwd: place, env: { ...npmEnv, ...env } }, command[0], command.slice(1));
  });
  return { status, copy };
}

const output = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '');

/** "3,144 of 3,144": rows that are not skipped, of all rows of the ledger that codegen has just written there. */
function opsBound(copy) {
  const folder = path.join(copy, 'build/ledger');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  if (names.length !== 1) return '?';
  const lines = output(path.join(folder, names[0])).split('\n');
  const rows = lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => line.split('\t')[1]);
  const count = (number) => number.toLocaleString('en');
  return `${count(rows.filter((status) => status !== 'skipped').length)} of ${count(rows.length)}`;
}

/**
 * @typedef {object} Outcome
 * @property {string} release
 * @property {string} libtorch
 * @property {string} node
 * @property {string} compiler
 * @property {string} ops
 * @property {number} passed
 * @property {number} failed
 * @property {number} left test files that were not run, since the time was over
 * @property {number} minutes of the suite, without making the root
 */

/**
 * @param {string} release
 * @param {{ fresh?: boolean, again?: boolean, until?: number }} [options] `again`: without what passed on this machine and
 *   depends on no platform; `until`: begin no test file after this time, in ms since 1970
 * @returns {Promise<Outcome>}
 */
export async function runSuite(release, { fresh = false, again = false, until = Number.POSITIVE_INFINITY } = {}) {
  const facts = ['node scripts/libtorch.mjs --version', 'node --version', 'g++ -dumpfullversion'].join(' && ');
  const asking = await runInCopy(release, ['/bin/sh', '-c', `mkdir -p build && (${facts}) > build/facts.txt`], {
    fresh,
  });
  if (asking.status !== 0) throw new StepError(`The root of ${release} lacks libtorch, Node or a compiler; see above.`);
  const [libtorch, node, compiler] = output(path.join(asking.copy, 'build/facts.txt')).trim().split('\n');
  const counts = path.join(asking.copy, 'build/tally.json');
  rmSync(counts, { force: true });
  const start = Date.now();
  const time = Number.isFinite(until) ? [`--until=${until}`] : [];
  const command = ['node', 'scripts/test.mjs', again ? '--again' : '--no-lint', ...time];
  const { status, copy } = await runInCopy(release, command);
  const { passed, failed, left } = existsSync(counts) ? JSON.parse(output(counts)) : { passed: 0, failed: 1, left: 0 };
  return {
    ...{ release, libtorch, node, compiler: `g++ ${compiler}`, ops: opsBound(copy), passed, left },
    // A failed run without a count of failures counts as one failure.
    failed: status !== 0 && failed === 0 ? 1 : failed,
    minutes: (Date.now() - start) / 60_000,
  };
}

/** @param {Outcome[]} outcomes @returns {string} a Markdown table */
export function tableOf(outcomes) {
  const head = ['Debian', 'libtorch', 'Node', 'compiler', 'ops bound', 'tests', 'minutes'];
  const rows = outcomes.map(({ release, libtorch, node, compiler, ops, passed, failed, left, minutes }) => {
    const tests = `${passed} passed, ${failed} failed${left > 0 ? `; ${left} files not run` : ''}`;
    return [release, libtorch, node.replace(/^v/, ''), compiler, ops, tests, minutes.toFixed(1)];
  });
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
