/**
 * What `libtorch-node build` runs where the package is installed: codegen and addon for the libtorch at hand, and the
 * generated JavaScript and types beside the TypeScript that the package brings compiled. Nothing is installed by npm.
 */
import { ensureAddon } from './steps/addon.mjs';
import { ensureCodegen } from './steps/codegen.mjs';
import { runMain } from './steps/errors.mjs';
import { writeEsmEntry } from './steps/esm-entry.mjs';
import { withLock } from './steps/lock.mjs';
import { ensurePackages } from './steps/packages.mjs';
import { copyAlong } from './steps/typescript.mjs';

await runMain(() =>
  withLock(async () => {
    await ensurePackages(['build']);
    await ensureCodegen();
    await ensureAddon();
    copyAlong();
    await writeEsmEntry();
  }),
);
