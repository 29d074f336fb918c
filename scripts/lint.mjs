/** npm run lint (npm run format fixes): Biome, clang-format, and the paths that comments name. */
import { runMain } from './steps/errors.mjs';
import { lintCpp, lintScripts } from './steps/lint.mjs';
import { withLock } from './steps/lock.mjs';
import { lintPaths } from './steps/named-paths.mjs';
import { setUp } from './steps/setup.mjs';

const write = process.argv.includes('--write');

await runMain(async () => {
  await withLock(() => setUp(['lint']));
  const results = [await lintScripts(write), await lintCpp(write), lintPaths()];
  if (results.includes(false)) process.exitCode = 1;
});
