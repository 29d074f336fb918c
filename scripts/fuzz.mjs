/** npm run fuzz: builds what is missing, then calls everything with hostile values; arguments go to test/fuzz/fuzz.cjs. */
import { inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { runShown } from './steps/command.mjs';
import { runMain } from './steps/errors.mjs';

await runMain(async () => {
  await buildAll();
  process.exitCode = await runShown(process.execPath, [inRoot('test', 'fuzz', 'fuzz.cjs'), ...process.argv.slice(2)]);
});
