/** npm run bench: builds what is missing, then runs the benchmarks; further arguments go to them. */
import { existsSync } from 'node:fs';
import { inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { runShown } from './steps/command.mjs';
import { runMain, StepError } from './steps/errors.mjs';

const entries = ['bench/run.mjs', 'dist/bench/run.js'];

await runMain(async () => {
  await buildAll();
  const entry = entries.find((file) => existsSync(inRoot(file)));
  if (entry === undefined)
    throw new StepError(`The benchmarks are missing: neither ${entries.join(' nor ')} is there.`);
  process.exitCode = await runShown(process.execPath, ['--expose-gc', inRoot(entry), ...process.argv.slice(2)]);
});
