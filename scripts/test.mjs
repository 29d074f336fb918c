/** npm test: sets up and builds what is missing, then every check there is. The last line is "N passed, N failed". */
import { buildAll } from './steps/build.mjs';
import { checkLedger, ensureCodegen } from './steps/codegen.mjs';
import { runMain } from './steps/errors.mjs';
import { jestTests } from './steps/jest.mjs';
import { lintCpp, lintScripts } from './steps/lint.mjs';
import { withLock } from './steps/lock.mjs';
import { nativeTests } from './steps/native-tests.mjs';
import { setUp } from './steps/setup.mjs';
import { Tally } from './steps/tally.mjs';
import { typecheck } from './steps/typecheck.mjs';

await runMain(async () => {
  const tally = new Tally();
  await tally.part('set-up', () => withLock(() => setUp(['build', 'lint', 'tests'])), { needed: true });
  await tally.part('lint: TypeScript and JavaScript', () => lintScripts());
  await tally.part('lint: C++', () => lintCpp());
  await tally.part('codegen', () => withLock(ensureCodegen), { needed: true });
  await tally.part('codegen:check', () => checkLedger());
  await tally.part('codegen and native tests', () => nativeTests());
  await tally.part('types', () => typecheck());
  await tally.part('build', () => buildAll(), { needed: true });
  await tally.part('Jest', () => jestTests());
  process.exitCode = tally.finish() ? 0 : 1;
});
