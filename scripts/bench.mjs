/**
 * npm run bench: builds what is missing, then runs the benchmarks; further arguments go to them. Set-up includes the
 * packages of the tests, because Debian's PyTorch, the reference, is one of them.
 */
import { inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { runShown } from './steps/command.mjs';
import { runMain } from './steps/errors.mjs';

await runMain(async () => {
  await buildAll(['tests']);
  process.exitCode = await runShown(process.execPath, [inRoot('bench', 'run.mjs'), ...process.argv.slice(2)]);
});
