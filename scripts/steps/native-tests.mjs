/** Compiles build/cmake and runs its tests: codegen tests, comparison of Declarations.yaml with torchgen's, native unit tests. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { cmakeDir } from '../paths.mjs';
import { cmakeBuild } from './cmake.mjs';
import { runShown } from './command.mjs';
import { withLock } from './lock.mjs';
import { step } from './progress.mjs';

/** @typedef {import('./tally.mjs').Counts} Counts */

/** The programs of GoogleTest. Loading libtorch takes longer than most of their tests, so each runs in one process. */
const programs = ['codegen_tests', 'native_tests'];
/** Their tests in CTest, where each is a process. */
const inPrograms = '^(codegen|native)\\.';

const countIn = (head, name) => Number(head.match(new RegExp(`\\b${name}="(\\d+)"`))?.[1] ?? 0);

/** A status that no counted failure explains is a failure, for example a crash. @returns {Counts} */
const judged = (status, { tests, failures, skipped }) => ({
  passed: Math.max(0, tests - failures - skipped),
  failed: status !== 0 && failures === 0 ? 1 : failures,
  skipped,
});

/**
 * All tests of one program in one process.
 * @param {string} dir
 * @param {string} name
 * @returns {Promise<Counts>}
 */
async function programTests(dir, name) {
  const report = path.join(dir, `${name}.json`);
  rmSync(report, { force: true });
  const args = ['--gtest_brief=1', `--gtest_output=json:${report}`];
  const status = await runShown(path.join(dir, 'bin', name), args);
  if (!existsSync(report)) return { passed: 0, failed: 1, skipped: 0 };
  const { tests, failures, disabled, testsuites } = JSON.parse(readFileSync(report, 'utf8'));
  const cases = testsuites.flatMap(({ testsuite }) => testsuite);
  const skipped = cases.filter(({ result }) => result === 'SKIPPED').length;
  return judged(status === 0 && tests === 0 ? 1 : status, { tests, failures, skipped: skipped + disabled });
}

/**
 * @param {string} dir
 * @param {string[]} selection arguments of ctest
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<Counts>}
 */
async function ctest(dir, selection, env = process.env) {
  const report = path.join(dir, 'ctest.xml');
  rmSync(report, { force: true });
  const args = ['--test-dir', dir, '--output-on-failure', '--no-tests=error', '--output-junit', report];
  const status = await runShown('ctest', [...args, ...selection], { env });
  if (!existsSync(report)) return { passed: 0, failed: 1, skipped: 0 };
  const head = readFileSync(report, 'utf8').match(/<testsuite\b[^>]*>/)?.[0] ?? '';
  const [tests, failures, skipped, disabled] = ['tests', 'failures', 'skipped', 'disabled'].map((name) =>
    countIn(head, name),
  );
  return judged(status, { tests, failures, skipped: skipped + disabled });
}

const compile = (dir, definitions) =>
  withLock(() =>
    step('native tests: compiling', () =>
      cmakeBuild(`${path.basename(dir)}-tests`, { dir, definitions: ['-DBUILD_TESTING=ON', ...definitions] }),
    ),
  );

/** @returns {Promise<Counts>} */
export async function nativeTests() {
  await compile(cmakeDir, []);
  const inOrder = async () => {
    const counts = [];
    for (const name of programs) counts.push(await programTests(cmakeDir, name));
    return counts;
  };
  // The comparison with torchgen is one process of 10 s, beside which the programs run.
  const [others, ...all] = (await Promise.all([ctest(cmakeDir, ['-E', inPrograms]), inOrder()])).flat();
  const sum = (key) => all.reduce((total, counts) => total + counts[key], others[key]);
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
}

/**
 * Each test in a process of its own, so that a sanitizer's report, which ends the process, belongs to one test.
 * @param {{ dir: string, definitions: string[], env: NodeJS.ProcessEnv }} options
 * @returns {Promise<Counts>}
 */
export async function isolatedNativeTests({ dir, definitions, env }) {
  await compile(dir, definitions);
  return ctest(dir, [], env);
}
