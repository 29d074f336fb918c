/** Before `npm pack` and `npm publish`: the package holds what is built, this machine's binding at least. */
import { buildAll } from './steps/build.mjs';
import { runMain } from './steps/errors.mjs';

await runMain(() => buildAll());
