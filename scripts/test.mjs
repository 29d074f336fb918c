/**
 * npm test: sets up and builds what is missing, then runs every check. The last line is "N passed, N failed".
 *
 *   --no-lint          skip lint and format checks, which are the same on every platform
 *   --matrix=RELEASE   also run the suite in that Debian release (scripts/matrix.mjs), counted in the last line
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { releases } from './matrix/roots.mjs';
import { prepareRoot, runSuite, tableOf } from './matrix/suite.mjs';
import { buildDir, inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { checkLedger, ensureCodegen } from './steps/codegen.mjs';
import { runMain, StepError } from './steps/errors.mjs';
import { jestTests } from './steps/jest.mjs';
import { lintCpp, lintScripts } from './steps/lint.mjs';
import { withLock } from './steps/lock.mjs';
import { lintPaths } from './steps/named-paths.mjs';
import { nativeTests } from './steps/native-tests.mjs';
import { say } from './steps/progress.mjs';
import { setUp } from './steps/setup.mjs';
import { Tally } from './steps/tally.mjs';
import { typecheck } from './steps/typecheck.mjs';

const usage = `usage: npm test [-- [--no-lint] [--matrix=RELEASE]…]
  --no-lint          skip lint and format checks
  --matrix=RELEASE   also run the suite in that Debian release: ${releases.join(', ')}
Single files: npx jest test/… (after npm run build)`;

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        'no-lint': { type: 'boolean', default: false },
        matrix: { type: 'string', multiple: true, default: [] },
      },
    });
    const unknown = values.matrix.filter((release) => !releases.includes(release));
    if (unknown.length > 0) throw new Error(`--matrix: expected one of ${releases.join(', ')}, got ${unknown[0]}`);
    return { ...values, lint: !values['no-lint'] };
  } catch (error) {
    throw new StepError(`${error.message}\n${usage}`);
  }
}

await runMain(async () => {
  const { help, lint, matrix } = readOptions();
  if (help) return void process.stdout.write(`${usage}\n`);
  const tally = new Tally();
  await tally.part('set-up', () => withLock(() => setUp(['build', 'tests', ...(lint ? ['lint'] : [])])), {
    needed: true,
  });
  // Starts now, because it mostly waits for downloads. The part of that release reports a failure.
  const roots = new Map(matrix.map((release) => [release, prepareRoot(release)]));
  for (const root of roots.values()) root.catch(() => {});
  if (lint) {
    await tally.part('lint: TypeScript and JavaScript', () => lintScripts());
    await tally.part('lint: C++', () => lintCpp());
    await tally.part('lint: paths in comments and documents', () => lintPaths());
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
