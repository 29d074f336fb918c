/**
 * Runs before `npm pack` and `npm publish`, so that the package holds at least this machine's binding, and a README whose links
 * work on a registry's page. `postpack` brings the checkout's README back.
 */
import { buildAll } from './steps/build.mjs';
import { runMain } from './steps/errors.mjs';
import { writeRegistryReadme } from './steps/registry-readme.mjs';

await runMain(async () => {
  await buildAll();
  writeRegistryReadme();
});
