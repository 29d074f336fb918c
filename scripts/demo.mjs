/** npm run demo: builds what is missing, then runs the digits example. */
import { inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { runShown } from './steps/command.mjs';
import { runMain } from './steps/errors.mjs';

await runMain(async () => {
  await buildAll();
  const demo = inRoot('dist', 'examples', 'digits', 'demo.js');
  process.exitCode = await runShown(process.execPath, [demo, ...process.argv.slice(2)]);
});
