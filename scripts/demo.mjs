/** npm run demo: builds what is missing, then runs the digits example. */
import { existsSync } from 'node:fs';
import { inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { runShown } from './steps/command.mjs';
import { runMain, StepError } from './steps/errors.mjs';

const entries = ['examples/digits/demo.mjs', 'dist/examples/digits/demo.js'];

await runMain(async () => {
  await buildAll();
  const entry = entries.find((file) => existsSync(inRoot(file)));
  if (entry === undefined) throw new StepError(`The demo is missing: neither ${entries.join(' nor ')} is there.`);
  process.exitCode = await runShown(process.execPath, [inRoot(entry), ...process.argv.slice(2)]);
});
