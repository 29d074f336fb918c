/** npm run bench:peers: builds what is missing, then compares with other packages; further arguments go to the bench. */
import { inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { runShown } from './steps/command.mjs';
import { runMain } from './steps/errors.mjs';

await runMain(async () => {
  await buildAll(['tests']);
  const bench = inRoot('bench', 'peers', 'run.mjs');
  process.exitCode = await runShown(process.execPath, [bench, ...process.argv.slice(2)]);
});
