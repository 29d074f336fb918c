/** Runs test files until a time is over, for a platform that is tested beside another one. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from '../paths.mjs';
import { jestTests } from './jest.mjs';
import { say } from './progress.mjs';

/** What differs most between releases of libtorch comes first. Folders that are not named follow in the order of their names. */
const foldersInOrder = [
  ...['ops', 'calls', 'overloads', 'nn', 'jit', 'inductor', 'autograd', 'public', 'files', 'types', 'optim', 'misuse'],
  ...['property', 'reentrancy', 'memory', 'async', 'lifetimes', 'threads', 'data'],
];

/** Each part starts Jest anew, and ends with a worker that waits for the other: not too small, not too large. */
const SECONDS_IN_PART = 160;
/** Of a file that test/slow.json does not name. */
const SECONDS_OF_OTHERS = 2;

const rankOf = (file) => {
  const rank = foldersInOrder.indexOf(path.dirname(file).split('/')[1]);
  return rank === -1 ? foldersInOrder.length : rank;
};

/** @param {string[]} files relative to the root @returns {string[][]} */
function partsOf(files) {
  const seconds = JSON.parse(readFileSync(inRoot('test', 'slow.json'), 'utf8'));
  const parts = [];
  let left = 0;
  for (const file of [...files].sort((a, b) => rankOf(a) - rankOf(b) || a.localeCompare(b))) {
    const cost = seconds[file] ?? SECONDS_OF_OTHERS;
    if (parts.length === 0 || left < cost) {
      parts.push([]);
      left = SECONDS_IN_PART;
    }
    parts.at(-1).push(file);
    left -= cost;
  }
  return parts;
}

/**
 * @param {string[]} files relative to the root
 * @param {{ until: number, env: NodeJS.ProcessEnv }} options `until`: no part starts after this time, in ms since 1970
 * @returns {Promise<import('./tally.mjs').Counts & { left: number }>} `left`: the files that were not run
 */
export async function jestUntil(files, { until, env }) {
  const total = { passed: 0, failed: 0, skipped: 0, left: 0 };
  for (const part of partsOf(files)) {
    if (Date.now() > until) {
      total.left += part.length;
      continue;
    }
    const counts = await jestTests(['--runTestsByPath', ...part], { env });
    for (const key of ['passed', 'failed', 'skipped']) total[key] += counts[key];
  }
  if (total.left > 0) say(`\nThe time is over: ${total.left} of ${files.length} test files were not run.`);
  return total;
}
