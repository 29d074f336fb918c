/**
 * Where the project is written. Everything is made in a staging folder first, which is renamed at the end, so a step that
 * fails or is interrupted leaves the folder as it was.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { printable } from './errors.mjs';

/** What a folder may contain and still count as empty: `git init` may come first. */
const ALLOWED = new Set(['.git']);

/** Names that npm refuses. */
const RESERVED = new Set(['node_modules', 'favicon.ico']);

/** The name for package.json: the folder's, in the characters that npm permits, or null if none is left. */
export function packageName(folder) {
  const name = path
    .basename(path.resolve(folder))
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[-._]+|-+$/g, '')
    .slice(0, 214);
  return name === '' || RESERVED.has(name) ? null : name;
}

/** Why a project cannot be made in this folder, or null. @param {string} folder */
export function folderProblem(folder) {
  const at = path.resolve(folder);
  const shown = printable(folder);
  if (packageName(at) === null) {
    return `expected a folder whose name has letters or digits and is not reserved by npm, got ${shown}`;
  }
  try {
    const stats = statSync(at, { throwIfNoEntry: false });
    if (stats === undefined) return null;
    if (!stats.isDirectory()) return `expected a new or an empty folder, got ${shown}, which is a file`;
    const names = readdirSync(at).filter((name) => !ALLOWED.has(name));
    if (names.length === 0) return null;
    const some = names.slice(0, 3).map(printable).join(', ');
    return `expected a new or an empty folder, got ${shown}, which contains ${some}${names.length > 3 ? ', …' : ''}`;
  } catch (error) {
    return `${shown} cannot be read (${error.code ?? error.message})`;
  }
}

/**
 * Prepares the staging folder: beside a new folder, inside an existing one, which may be the working folder of a shell.
 * @param {string} folder
 */
export function openPlace(folder) {
  const target = path.resolve(folder);
  const isNew = !existsSync(target);
  const staging = isNew
    ? path.join(path.dirname(target), `.${path.basename(target)}.making-${process.pid}`)
    : path.join(target, `.making-${process.pid}`);
  /** The first folder above that did not exist. */
  const above = mkdirSync(path.dirname(staging), { recursive: true });
  mkdirSync(staging);
  /** Names that were moved out of the staging folder already. */
  const moved = [];

  return {
    target,
    staging,
    /** Puts the finished project in its place. */
    finish() {
      if (isNew) return renameSync(staging, target);
      for (const name of readdirSync(staging)) {
        moved.push(name);
        renameSync(path.join(staging, name), path.join(target, name));
      }
      rmdirSync(staging);
    },
    /** Removes everything that was made. */
    discard() {
      // Children of npm may still write while they end.
      const options = { recursive: true, force: true, maxRetries: 10 };
      for (const name of moved) rmSync(path.join(target, name), options);
      rmSync(staging, options);
      if (above === undefined) return;
      for (let at = path.dirname(target); at.length >= above.length; at = path.dirname(at)) {
        try {
          rmdirSync(at);
        } catch {
          return; // another program has put something there: it is not ours
        }
      }
    },
  };
}
