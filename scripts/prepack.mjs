/** Runs before `npm pack` and `npm publish`, so that the package holds at least this machine's binding. */
import { buildAll } from './steps/build.mjs';
import { runMain } from './steps/errors.mjs';

await runMain(() => buildAll());
