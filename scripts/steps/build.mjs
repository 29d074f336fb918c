/**
 * Codegen, addon, TypeScript, prebuilds/ for `npm pack` and the bill of materials, in this order; each step runs only when
 * its inputs have changed.
 */
import { ensureAddon } from './addon.mjs';
import { ensureCodegen } from './codegen.mjs';
import { withLock } from './lock.mjs';
import { ensurePrebuild } from './prebuilds.mjs';
import { ensureSbom } from './sbom.mjs';
import { setUp } from './setup.mjs';
import { ensureTypeScript } from './typescript.mjs';

/** @param {import('./packages.mjs').Purpose[]} [more] further purposes to set up for */
export const buildAll = (more = []) =>
  withLock(async () => {
    await setUp(['build', ...more]);
    await ensureCodegen();
    await ensureAddon();
    await ensureTypeScript();
    await ensurePrebuild();
    await ensureSbom();
  });
