/** npm run soak: builds what is missing, then drives everything at once for hours; arguments go to test/soak/soak.cjs. */
import { inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { runShown } from './steps/command.mjs';
import { runMain } from './steps/errors.mjs';

await runMain(async () => {
  await buildAll();
  process.exitCode = await runShown(process.execPath, [inRoot('test', 'soak', 'soak.cjs'), ...process.argv.slice(2)]);
});
