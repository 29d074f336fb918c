/**
 * npm test: sets up and builds what is missing, then every check there is. The last line is "N passed, N failed".
 *
 *   --no-lint          without the checks of the sources' form, which are the same everywhere
 *   --matrix=RELEASE   the same in that release of Debian as well (scripts/matrix.mjs), counted in the last line
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { prepareRoot, runSuite, tableOf } from './matrix/suite.mjs';
import { buildDir, inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { checkLedger, ensureCodegen } from './steps/codegen.mjs';
import { runMain } from './steps/errors.mjs';
import { jestTests } from './steps/jest.mjs';
import { lintCpp, lintScripts } from './steps/lint.mjs';
import { withLock } from './steps/lock.mjs';
import { nativeTests } from './steps/native-tests.mjs';
import { say } from './steps/progress.mjs';
import { setUp } from './steps/setup.mjs';
import { Tally } from './steps/tally.mjs';
import { typecheck } from './steps/typecheck.mjs';

const lint = !process.argv.includes('--no-lint');
const matrix = process.argv.flatMap((word) => (word.startsWith('--matrix=') ? [word.slice('--matrix='.length)] : []));

await runMain(async () => {
  const tally = new Tally();
  await tally.part('set-up', () => withLock(() => setUp(['build', 'tests', ...(lint ? ['lint'] : [])])), {
    needed: true,
  });
  // Mostly waiting for downloads, so it begins now. A failure is that release's part to report.
  const roots = new Map(matrix.map((release) => [release, prepareRoot(release)]));
  for (const root of roots.values()) root.catch(() => {});
  if (lint) {
    await tally.part('lint: TypeScript and JavaScript', () => lintScripts());
    await tally.part('lint: C++', () => lintCpp());
  }
  await tally.part('codegen', () => withLock(ensureCodegen), { needed: true });
  await tally.part('codegen:check', () => checkLedger());
  await tally.part('codegen and native tests', () => nativeTests());
  await tally.part('types', () => typecheck());
  await tally.part('build', () => buildAll(), { needed: true });
  await tally.part('Jest', () => jestTests());
  for (const release of matrix) {
    await tally.part(`Debian ${release}`, async () => {
      await roots.get(release);
      const outcome = await runSuite(release);
      say(tableOf([outcome]));
      return { passed: outcome.passed, failed: outcome.failed, skipped: 0 };
    });
  }
  mkdirSync(buildDir, { recursive: true });
  writeFileSync(inRoot('build', 'tally.json'), JSON.stringify(tally.totals()));
  process.exitCode = tally.finish() ? 0 : 1;
});
