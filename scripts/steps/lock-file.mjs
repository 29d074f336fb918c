/**
 * What package-lock.json says of the packages, and which of its entries have no integrity: npm would install whatever a
 * registry sends for those. scripts/complete-lock.mjs asks the registry for them; what the registry does not carry stands in
 * `lockExceptions`, which a test compares with the lock.
 */
import { readFileSync } from 'node:fs';
import { inRoot } from '../paths.mjs';

export const lockFile = inRoot('package-lock.json');
export const lockExceptions = inRoot('scripts', 'lock-exceptions.json');

/** 'node_modules/a/node_modules/@b/c' -> '@b/c' */
export const nameOf = (place) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** "glibc" or "musl"; undefined where neither is */
function ownLibc() {
  if (process.platform !== 'linux') return undefined;
  return process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

/** npm's rule for such a list: a name that is refused wins, and a list of refusals alone allows all others. */
function allows(list, own) {
  if (list === undefined) return true;
  if (list.includes(`!${own}`)) return false;
  return list.includes(own) || list.every((word) => word.startsWith('!'));
}

/** Whether npm installs an entry here: what it says of os, cpu and libc fits this machine. */
export function isForThisMachine(
  { os, cpu, libc },
  machine = { os: process.platform, cpu: process.arch, libc: ownLibc() },
) {
  return allows(os, machine.os) && allows(cpu, machine.cpu) && allows(libc, machine.libc);
}

/** @returns {string[]} 'name@version' of every entry of the lock without integrity, sorted; with `fits`, of those it accepts */
export function withoutIntegrity(packages, fits = (_entry) => true) {
  return Object.entries(packages)
    .filter(([place, entry]) => place !== '' && entry.link !== true && entry.integrity === undefined && fits(entry))
    .map(([place, entry]) => `${nameOf(place)}@${entry.version}`)
    .sort();
}

export const readLockFile = () => JSON.parse(readFileSync(lockFile, 'utf8'));
