/** npm test: sets up and builds what is missing, then every check there is. The last line is "N passed, N failed". */
import { buildAll } from './steps/build.mjs';
import { checkLedger } from './steps/codegen.mjs';
import { runMain } from './steps/errors.mjs';
import { jestTests } from './steps/jest.mjs';
import { lintCpp, lintScripts } from './steps/lint.mjs';
import { nativeTests } from './steps/native-tests.mjs';
import { Tally } from './steps/tally.mjs';
import { typecheck } from './steps/typecheck.mjs';

await runMain(async () => {
  const tally = new Tally();
  const built = await tally.part('set-up and build', () => buildAll(['lint', 'tests']).then(() => true));
  await tally.part('lint: TypeScript and JavaScript', () => lintScripts());
  await tally.part('lint: C++', () => lintCpp());
  await tally.part('types', () => typecheck());
  await tally.part('codegen and native tests', () => nativeTests());
  await tally.part('codegen:check', () => checkLedger());
  if (built) await tally.part('Jest', () => jestTests());
  else await tally.part('Jest', () => Promise.reject(new Error('Not run: the build failed.')));
  process.exitCode = tally.finish() ? 0 : 1;
});
