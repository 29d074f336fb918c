/**
 * Reads package-lock.json and finds the entries without an integrity hash, for which npm would install whatever a registry
 * sends. scripts/complete-lock.mjs asks the registry for the hashes; `lockExceptions` lists the packages that the registry
 * does not carry, and a test compares it with the lock file.
 */
import { readFileSync } from 'node:fs';
import { inRoot } from '../paths.mjs';

export const lockFile = inRoot('package-lock.json');
export const lockExceptions = inRoot('scripts', 'lock-exceptions.json');

/** 'node_modules/a/node_modules/@b/c' -> '@b/c' */
export const nameOf = (place) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** "glibc" or "musl"; undefined on systems other than Linux */
function ownLibc() {
  if (process.platform !== 'linux') return undefined;
  return process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

/** npm's rule for such a list: an excluded name (`!name`) wins, and a list of only exclusions allows all others. */
function allows(list, own) {
  if (list === undefined) return true;
  if (list.includes(`!${own}`)) return false;
  return list.includes(own) || list.every((word) => word.startsWith('!'));
}

/** Whether npm installs an entry here: its os, cpu and libc match this machine. */
export function isForThisMachine(
  { os, cpu, libc },
  machine = { os: process.platform, cpu: process.arch, libc: ownLibc() },
) {
  return allows(os, machine.os) && allows(cpu, machine.cpu) && allows(libc, machine.libc);
}

/** @returns {string[]} 'name@version' of the entries without an integrity hash that `fits` accepts, sorted */
export function withoutIntegrity(packages, fits = (_entry) => true) {
  return Object.entries(packages)
    .filter(([place, entry]) => place !== '' && entry.link !== true && entry.integrity === undefined && fits(entry))
    .map(([place, entry]) => `${nameOf(place)}@${entry.version}`)
    .sort();
}

export const readLockFile = () => JSON.parse(readFileSync(lockFile, 'utf8'));
