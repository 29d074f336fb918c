/** The npm packages of the lock file, installed with `npm ci` only when node_modules differs from the lock. */
import { readFileSync } from 'node:fs';
import { inRoot } from '../paths.mjs';
import { runLogged } from './command.mjs';
import { step } from './progress.mjs';

function readLock(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** node_modules/.package-lock.json is npm's own record of what it has installed. */
function isInstalled() {
  const wanted = readLock(inRoot('package-lock.json'));
  const present = readLock(inRoot('node_modules', '.package-lock.json'));
  if (wanted === undefined || present === undefined) return false;
  return Object.entries(wanted).every(([place, entry]) => {
    if (place === '') return true;
    const found = present[place];
    return found === undefined ? entry.optional === true : found.version === entry.version;
  });
}

export async function ensureNpmPackages() {
  if (isInstalled()) return;
  await step('npm packages of the lock file', () =>
    runLogged('npm-ci', 'npm', ['ci', '--include=dev', '--ignore-scripts']),
  );
}
