/** Runs Jest over test/** and reads the results from its JSON report. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { inRoot, root } from '../paths.mjs';
import { runShown } from './command.mjs';
import { say } from './progress.mjs';
import { withoutUnusedLibraries } from './unused-libraries.mjs';

/**
 * Jest's workers and the programs that they start share the cores. OpenBLAS's threads wait for each other by spinning, so
 * with one thread per core in each process, small matrix products take ten times as long.
 */
const blas = { OPENBLAS_NUM_THREADS: '1' };

const report = inRoot('build', 'jest.json');
const readReport = () => (existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : undefined);

/** The files that took longest in the last run. @param {number} count @returns {string[]} */
export const slowestFiles = (count) =>
  (readReport()?.testResults ?? [])
    .map(({ name, startTime, endTime }) => ({ file: path.relative(root, name), seconds: (endTime - startTime) / 1000 }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, count)
    .map(({ file, seconds }) => `${seconds.toFixed(1).padStart(6)} s  ${file}`);

/** Prints which tests failed and which were skipped, since a long log hides them. */
function printOutcome({ testResults }) {
  const all = testResults.flatMap(({ name, message, assertionResults: tests }) => {
    const file = path.relative(root, name);
    const failures = tests.filter(({ status }) => status === 'failed');
    const skipped = tests.filter(({ status }) => status === 'pending' || status === 'todo');
    const whole = tests.length === 0 && message !== '' ? [`failed   ${file}`] : [];
    const line =
      (what) =>
      ({ fullName }) =>
        `${what}${file}: ${fullName}`;
    return [...whole, ...failures.map(line('failed   ')), ...skipped.map(line('skipped  '))];
  });
  if (all.length > 0) say(`\nTests that did not pass:\n  ${all.join('\n  ')}`);
}

/**
 * @param {string[]} [more] further arguments, such as a path to narrow the run
 * @param {{ env?: NodeJS.ProcessEnv, workers?: number, node?: string }} [options] with one worker all tests run in Jest's own process
 * @returns {Promise<import('./tally.mjs').Counts>}
 */
export async function jestTests(more = [], { env = process.env, workers = 2, node = process.execPath } = {}) {
  rmSync(report, { force: true });
  const jest = inRoot('node_modules', 'jest', 'bin', 'jest.js');
  const args = [jest, '--ci', `--maxWorkers=${workers}`, '--json', `--outputFile=${report}`, ...more];
  const status = await runShown(node, args, {
    stdio: ['inherit', 2, 2],
    env: await withoutUnusedLibraries({ ...blas, ...env }),
  });
  const result = readReport();
  if (result === undefined) return { passed: 0, failed: 1, skipped: 0 };
  printOutcome(result);
  const failures = result.numFailedTests + result.numRuntimeErrorTestSuites;
  return {
    passed: result.numPassedTests,
    failed: status !== 0 && failures === 0 ? 1 : failures,
    skipped: result.numPendingTests + result.numTodoTests,
  };
}
