/**
 * npm run test:asan: the native tests, and the Jest suite over a sanitized addon, with the address, leak and
 * undefined-behaviour sanitizers. A report of any process fails the run. `--native` skips Jest; other arguments select
 * Jest's tests: npm run test:asan -- test/lifetimes
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { buildDir } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { cmakeBuild } from './steps/cmake.mjs';
import { runMain } from './steps/errors.mjs';
import { jestTests } from './steps/jest.mjs';
import { withLock } from './steps/lock.mjs';
import { isolatedNativeTests } from './steps/native-tests.mjs';
import { plantedFaults } from './steps/planted-faults.mjs';
import { say, step } from './steps/progress.mjs';
import {
  freshReports,
  readReports,
  reportText,
  sanitizedDefinitions,
  sanitizedDir,
  sanitizedEnv,
  sanitizedNodeEnv,
} from './steps/sanitizers.mjs';
import { Tally } from './steps/tally.mjs';

const args = process.argv.slice(2);
const nativeOnly = args.includes('--native');
const narrow = args.filter((arg) => arg !== '--native');

/** Runs one part with a folder for its reports; each report counts as one failure. */
async function reported(name, work) {
  const dir = freshReports(name);
  const counts = await work(dir);
  const reports = readReports(dir);
  if (reports.length > 0) say(`\n${reports.length} processes reported:\n\n${reportText(reports)}\n`);
  return { ...counts, failed: counts.failed + reports.length };
}

/** Prints what tests did differently: figures that hold only in an ordinary process, and shortened loops. */
function sayUnjudged(file) {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
  if (lines.length === 0) return;
  say(`\nDifferences from a run without the sanitizers: ${lines.length} (test/support/sanitized.ts says why):`);
  for (const line of lines) say(`  ${line}`);
}

async function jestPart(dir) {
  const unjudged = path.join(buildDir, 'sanitizer-reports', 'unjudged.txt');
  rmSync(unjudged, { force: true });
  // Test files run in Jest's own process, because Jest kills its workers with a signal before they are checked for leaks.
  const env = { ...sanitizedNodeEnv(dir), LTN_SANITIZED: unjudged, LTN_TIME_FACTOR: '10' };
  const counts = await jestTests(narrow, { env, workers: 1 });
  sayUnjudged(unjudged);
  return counts;
}

await runMain(async () => {
  const tally = new Tally();
  await tally.part('build', () => buildAll(['tests']), { needed: true });
  await tally.part(
    'sanitized build',
    () =>
      withLock(() =>
        step('sanitized build: compiling (minutes the first time)', () =>
          cmakeBuild('asan', { dir: sanitizedDir, definitions: ['-DBUILD_TESTING=ON', ...sanitizedDefinitions()] }),
        ),
      ),
    { needed: true },
  );
  await tally.part('planted faults are reported', () => plantedFaults());
  if (narrow.length === 0) {
    await tally.part('codegen and native tests', () =>
      reported('native', (dir) =>
        isolatedNativeTests({ dir: sanitizedDir, definitions: sanitizedDefinitions(), env: sanitizedEnv(dir) }),
      ),
    );
  }
  if (!nativeOnly) await tally.part('Jest', () => reported('jest', jestPart));
  process.exitCode = tally.finish() ? 0 : 1;
});
