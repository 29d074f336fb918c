/** Installs the npm packages of the lock file with `npm ci`, if node_modules differs from the lock. */
import { readFileSync } from 'node:fs';
import { inRoot } from '../paths.mjs';
import { runLogged } from './command.mjs';
import { StepError } from './errors.mjs';
import { isForThisMachine, lockFile, withoutIntegrity } from './lock-file.mjs';
import { step } from './progress.mjs';

function readLock(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** node_modules/.package-lock.json is npm's own record of the installed packages. */
function isInstalled() {
  const wanted = readLock(lockFile);
  const present = readLock(inRoot('node_modules', '.package-lock.json'));
  if (wanted === undefined || present === undefined) return false;
  return Object.entries(wanted).every(([place, entry]) => {
    if (place === '') return true;
    const found = present[place];
    return found === undefined ? entry.optional === true : found.version === entry.version;
  });
}

/**
 * npm accepts whatever a registry sends for an entry without an integrity hash, so such packages are not installed.
 * @param {Record<string, any>} packages of a lock file
 * @param {Parameters<typeof isForThisMachine>[1]} [machine]
 */
export function requireIntegrity(packages, machine) {
  const unchecked = withoutIntegrity(packages, (entry) => isForThisMachine(entry, machine));
  if (unchecked.length === 0) return;
  throw new StepError(
    `package-lock.json lacks the integrity hash of ${unchecked.join(', ')}, so nothing was installed.\n` +
      'Run `node scripts/complete-lock.mjs` with a registry that carries them.',
  );
}

export async function ensureNpmPackages() {
  if (isInstalled()) return;
  requireIntegrity(readLock(lockFile) ?? {});
  await step('npm packages of the lock file', () =>
    runLogged('npm-ci', 'npm', ['ci', '--include=dev', '--ignore-scripts']),
  );
}
