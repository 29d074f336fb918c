/** Sets up what all other steps need: Debian packages, npm packages, a libtorch. */
import { findLibtorch } from '../libtorch.mjs';
import { StepError } from './errors.mjs';
import { ensureNpmPackages } from './npm.mjs';
import { ensurePackages } from './packages.mjs';

/** The first releases of Node with zlib.crc32. `engines` in package.json says the same. */
function isSupported(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 2) || (major === 20 && minor >= 15);
}

/** @param {import('./packages.mjs').Purpose[]} purposes */
export async function setUp(purposes) {
  if (!isSupported(process.versions.node)) {
    const expected = 'Node 20.15 or later of Node 20, or 22.2 or later';
    throw new StepError(`expected ${expected}, got ${process.version} (${process.execPath})`);
  }
  await ensurePackages(purposes);
  await ensureNpmPackages();
  if (purposes.includes('build')) findLibtorch();
}
