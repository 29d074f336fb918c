/** npm run lint (npm run format fixes): Biome and clang-format. */
import { runMain } from './steps/errors.mjs';
import { lintCpp, lintScripts } from './steps/lint.mjs';
import { withLock } from './steps/lock.mjs';
import { setUp } from './steps/setup.mjs';

const write = process.argv.includes('--write');

await runMain(async () => {
  await withLock(() => setUp(['lint']));
  const results = [await lintScripts(write), await lintCpp(write)];
  if (results.includes(false)) process.exitCode = 1;
});
