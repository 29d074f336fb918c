/** What everything else needs: Debian packages, npm packages, a libtorch. */
import { findLibtorch } from '../libtorch.mjs';
import { StepError } from './errors.mjs';
import { ensureNpmPackages } from './npm.mjs';
import { ensurePackages } from './packages.mjs';

const oldestNode = 20;

/** @param {import('./packages.mjs').Purpose[]} purposes */
export async function setUp(purposes) {
  if (Number.parseInt(process.versions.node, 10) < oldestNode) {
    throw new StepError(`Node ${oldestNode} or newer is needed; this is ${process.version} (${process.execPath}).`);
  }
  await ensurePackages(purposes);
  await ensureNpmPackages();
  if (purposes.includes('build')) findLibtorch();
}
