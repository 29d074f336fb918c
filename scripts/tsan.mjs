/**
 * npm run test:tsan: the native tests under the thread sanitizer: the slot table, the ledger, the token table, the pool
 * and the recorder, used by several threads at once (test/native/threads_test.cpp). A report of any process fails the run.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from './paths.mjs';
import { cmakeBuild } from './steps/cmake.mjs';
import { ensureCodegen } from './steps/codegen.mjs';
import { runShown } from './steps/command.mjs';
import { runMain } from './steps/errors.mjs';
import { withLock } from './steps/lock.mjs';
import { say, step } from './steps/progress.mjs';
import { freshReports, readReports, reportStatus, reportText } from './steps/sanitizers.mjs';
import { setUp } from './steps/setup.mjs';
import { Tally } from './steps/tally.mjs';

const dir = inRoot('build', 'cmake-tsan');
const program = (name) => path.join(dir, 'bin', name);

const build = () =>
  withLock(async () => {
    await setUp(['build', 'tests']);
    await ensureCodegen();
    // Blocks go straight back to malloc, which the sanitizer intercepts, instead of to a later tensor of another thread.
    const flags = ['-DCMAKE_BUILD_TYPE=None', '-DCMAKE_CXX_FLAGS=-O1 -DLTN_NO_BLOCK_CACHE', '-DLTN_SANITIZE=thread'];
    await step('native tests: compiling for the thread sanitizer', () =>
      cmakeBuild('tsan', {
        dir,
        definitions: [...flags, '-DBUILD_TESTING=ON'],
        targets: ['native_tests', 'planted_main'],
      }),
    );
  });

/** The children of tests that fork start threads, which the sanitizer allows only with die_after_fork=0. */
const environment = (reports) => ({
  ...process.env,
  TSAN_OPTIONS: [
    ...[`suppressions=${inRoot('scripts', 'sanitizer', 'tsan.supp')}`, `log_path=${path.join(reports, 'tsan')}`],
    ...[`exitcode=${reportStatus}`, 'log_exe_name=1', 'die_after_fork=0', 'second_deadlock_stack=1', 'history_size=4'],
    // An impossible allocation returns null, as without the sanitizer, instead of ending the process.
    'allocator_may_return_null=1',
    process.env.TSAN_OPTIONS,
  ]
    .filter(Boolean)
    .join(':'),
});

const faults = {
  race: /WARNING: ThreadSanitizer: data race.*planted_main\.cpp/s,
  wrong_lock: /WARNING: ThreadSanitizer: data race.*planted_main\.cpp/s,
  freed_by_another: /WARNING: ThreadSanitizer: (data race|heap-use-after-free).*planted_main\.cpp/s,
};

function plantedFaults() {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const [fault, expected] of Object.entries(faults)) {
    const reports = freshReports('planted');
    const { status } = spawnSync(program('planted_main'), [fault], { env: environment(reports) });
    const found = readReports(reports);
    const seen = status === reportStatus && found.length === 1 && expected.test(found[0].text);
    counts[seen ? 'passed' : 'failed']++;
    if (!seen) say(`✗ ${fault} is not reported (status ${status}):\n${reportText(found)}`);
  }
  return counts;
}

async function nativeTests() {
  const reports = freshReports('tsan');
  const results = path.join(dir, 'native_tests.json');
  rmSync(results, { force: true });
  const args = ['--gtest_brief=1', `--gtest_output=json:${results}`, ...process.argv.slice(2)];
  const status = await runShown(program('native_tests'), args, { env: environment(reports) });
  const found = readReports(reports);
  if (found.length > 0) say(reportText(found, { lines: 200 }));
  if (!existsSync(results)) return { passed: 0, failed: 1, skipped: 0 };
  const { tests, failures, disabled } = JSON.parse(readFileSync(results, 'utf8'));
  const failed = failures + found.length;
  return { passed: tests - failures - disabled, failed: status !== 0 && failed === 0 ? 1 : failed, skipped: disabled };
}

await runMain(async () => {
  const tally = new Tally();
  await tally.part('build', build, { needed: true });
  await tally.part('planted races are reported', () => plantedFaults());
  await tally.part('native tests', () => nativeTests());
  process.exitCode = tally.finish() ? 0 : 1;
});
