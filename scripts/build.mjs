/** npm run build: codegen, addon and TypeScript, after setting up what they need. */
import { buildAll } from './steps/build.mjs';
import { runMain } from './steps/errors.mjs';

await runMain(() => buildAll());
