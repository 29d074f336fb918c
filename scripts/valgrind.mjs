/** npm run test:valgrind: the codegen and native tests under valgrind's memcheck; every error and every lost block fails. */
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

const dir = inRoot('build', 'cmake-valgrind');
const program = (name) => path.join(dir, 'bin', name);

const build = () =>
  withLock(async () => {
    await setUp(['build', 'tests', 'valgrind']);
    await ensureCodegen();
    // The allocator does not cache blocks, so memcheck sees each block freed when its tensor is freed.
    const flags = ['-DCMAKE_BUILD_TYPE=None', '-DCMAKE_CXX_FLAGS=-O1 -g1 -DLTN_NO_BLOCK_CACHE', '-DBUILD_TESTING=ON'];
    await step('native tests: compiling for valgrind', () =>
      cmakeBuild('valgrind', { dir, definitions: flags, targets: ['native_tests', 'codegen_tests', 'planted_main'] }),
    );
  });

// Blocks still reachable at the end belong to libtorch's registries; unreachable ones are leaks.
// memcheck must not replace the tests' own operator new: some tests count allocations with it.
const memcheck = (reports) => [
  '--soname-synonyms=somalloc=nouserintercepts',
  ...['--quiet', '--leak-check=full', '--show-leak-kinds=definite,indirect,possible'],
  ...['--errors-for-leak-kinds=definite,possible', '--num-callers=40', `--error-exitcode=${reportStatus}`],
  ...[`--suppressions=${inRoot('scripts', 'sanitizer', 'memcheck.supp')}`, `--log-file=${reports}/memcheck.%p`],
];

const faults = {
  leak: /100 bytes in 1 blocks are definitely lost/,
  use_after_free: /Invalid read of size 1.*inside a block of size 100 free'd/s,
  uninitialised: /Conditional jump or move depends on uninitialised value/,
};

function plantedFaults() {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const [fault, expected] of Object.entries(faults)) {
    const reports = freshReports('planted');
    const { status } = spawnSync('valgrind', [...memcheck(reports), program('planted_main'), fault]);
    const found = readReports(reports);
    const seen = status === reportStatus && found.length === 1 && expected.test(found[0].text);
    counts[seen ? 'passed' : 'failed']++;
    if (!seen) say(`✗ ${fault} is not reported (status ${status}):\n${reportText(found)}`);
  }
  return counts;
}

/** All tests of one program in one process, since libtorch takes half a minute to load under memcheck. */
async function checked(name) {
  const reports = freshReports(name);
  const results = path.join(dir, `${name}.json`);
  rmSync(results, { force: true });
  const tests = [program(name), '--gtest_brief=1', `--gtest_output=json:${results}`];
  const status = await runShown('valgrind', [...memcheck(reports), ...tests]);
  const found = readReports(reports);
  if (found.length > 0) say(reportText(found, { lines: 200 }));
  if (!existsSync(results)) return { passed: 0, failed: 1, skipped: 0 };
  const { tests: all, failures, disabled } = JSON.parse(readFileSync(results, 'utf8'));
  const failed = failures + found.length;
  return { passed: all - failures - disabled, failed: status !== 0 && failed === 0 ? 1 : failed, skipped: disabled };
}

await runMain(async () => {
  const tally = new Tally();
  await tally.part('build', build, { needed: true });
  await tally.part('planted faults are reported', () => plantedFaults());
  await tally.part('codegen tests', () => checked('codegen_tests'));
  await tally.part('native tests', () => checked('native_tests'));
  process.exitCode = tally.finish() ? 0 : 1;
});
