/** npm run bench:service: builds what is missing, then load-tests the example service; further arguments go to the bench. */
import { inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { runShown } from './steps/command.mjs';
import { runMain } from './steps/errors.mjs';

await runMain(async () => {
  await buildAll(['tests', 'service']);
  const bench = inRoot('bench', 'service', 'run.mjs');
  process.exitCode = await runShown(process.execPath, [bench, ...process.argv.slice(2)]);
});
