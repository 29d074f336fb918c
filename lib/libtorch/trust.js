'use strict';
/**
 * Decides whether other users could have put code where it is about to be loaded from. A file is trusted if this user or root
 * owns it, no one else may write to it, and the same holds for every folder above it, up to the root. Once this holds for a
 * path without links, it stays true, because no one else can change any part of it. So the examined path is the one loaded.
 *
 * A world-writable sticky folder (/tmp) may be above the trusted one: users cannot replace each other's files there. On
 * systems without user ids nothing is examined.
 */
const fs = require('node:fs');
const path = require('node:path');
const { printable: shown } = require('./printable.js');

/** Write permission of the group and of others. An access control list shows in the group bits. */
const OTHERS = 0o022;
const STICKY = 0o1000;

const effectiveUser = () => process.geteuid?.();

/** A problem if it belongs to another user, or null. */
function ownerProblem(file, stat) {
  const user = effectiveUser();
  if (user === undefined || stat.uid === user || stat.uid === 0) return null;
  const expected = user === 0 ? 'root' : `uid ${user} or root`;
  return `${shown(file)} belongs to uid ${stat.uid}, expected ${expected}: remove it, or use another folder`;
}

/** Why other users could have changed it, or null. */
function problemOf(file, stat, stickyIsFine) {
  if (effectiveUser() === undefined) return null;
  const problem = ownerProblem(file, stat);
  if (problem !== null) return problem;
  if ((stat.mode & OTHERS) === 0 || (stickyIsFine && (stat.mode & STICKY) !== 0)) return null;
  const mode = (stat.mode & 0o7777).toString(8).padStart(4, '0');
  return `${shown(file)} can be written by other users (mode ${mode}): chmod go-w it once you know that its contents are yours`;
}

/** Why a folder on the path is not trusted, or null. */
function folderProblem(dir, stickyIsFine) {
  let stat;
  try {
    stat = fs.lstatSync(dir);
  } catch (error) {
    return `${shown(dir)} cannot be examined: ${error.code ?? error.message}`;
  }
  if (stat.isSymbolicLink()) return `${shown(dir)} is a symbolic link, expected a folder`;
  if (!stat.isDirectory()) return `${shown(dir)} is not a folder`;
  return problemOf(dir, stat, stickyIsFine);
}

/** The kernel's limit of links in one path. */
const MAX_LINKS = 40;

/**
 * The path without links, like realpath. A link of another user is a problem: its owner may change it at any time.
 * @param {string} folder
 * @returns {{ real: string, problem: string | null }}
 */
function followLinks(folder) {
  const parts = path.resolve(folder).split(path.sep);
  let at = path.parse(path.resolve(folder)).root;
  for (let links = 0; parts.length > 0; ) {
    const part = parts.shift();
    if (part === '' || part === '.') continue;
    const next = part === '..' ? path.dirname(at) : path.join(at, part);
    const stat = fs.lstatSync(next);
    if (!stat.isSymbolicLink()) {
      at = next;
      continue;
    }
    const problem = ownerProblem(next, stat);
    if (problem !== null) return { real: folder, problem };
    if (++links > MAX_LINKS)
      return { real: folder, problem: `${shown(folder)} has too many symbolic links in its path` };
    const target = fs.readlinkSync(next);
    if (path.isAbsolute(target)) at = path.parse(target).root;
    parts.unshift(...target.split(path.sep));
  }
  return { real: at, problem: null };
}

/**
 * Examines an existing folder, the folders above it, and the folders from it to `below`.
 * @param {string} folder may be reached by links of this user and of root
 * @param {string[]} below names of nested folders; none of them may be a link
 * @param {boolean} isAbove whether it is only above the trusted folder: then it may be sticky
 * @returns {{ real: string, problem: string | null }} the examined path, and why it is not trusted
 */
function examineFolder(folder, below = [], isAbove = false) {
  let root;
  try {
    if (effectiveUser() === undefined) return { real: path.join(fs.realpathSync(folder), ...below), problem: null };
    const { real, problem } = followLinks(folder);
    if (problem !== null) return { real: path.join(folder, ...below), problem };
    root = real;
  } catch (error) {
    return { real: folder, problem: `${shown(folder)} cannot be examined: ${error.code ?? error.message}` };
  }
  const real = path.join(root, ...below);
  // From the top: folders already found trusted cannot be replaced while the rest is examined.
  const above = [];
  for (let dir = path.dirname(root); ; dir = path.dirname(dir)) {
    above.unshift(dir);
    if (dir === path.dirname(dir)) break;
  }
  for (const dir of above) {
    if (dir === root) continue;
    const problem = folderProblem(dir, true);
    if (problem !== null) return { real, problem };
  }
  for (let i = 0; i <= below.length; i++) {
    const problem = folderProblem(path.join(root, ...below.slice(0, i)), isAbove);
    if (problem !== null) return { real, problem };
  }
  return { real, problem: null };
}

function isThere(file) {
  try {
    fs.lstatSync(file);
    return true;
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return false;
  }
}

/**
 * Creates a folder private to this user, with missing parents, and examines it like `examineFolder`. Creates nothing below a
 * folder that is not trusted. Callers must use only the returned path: the original name may lead to another folder later.
 * @param {string} folder
 * @param {string[]} [below]
 * @returns {{ real: string, problem: string | null }}
 */
function makeFolder(folder, below = []) {
  let there = path.resolve(folder);
  const missing = [];
  for (; !isThere(there); there = path.dirname(there)) missing.unshift(path.basename(there));
  const top = examineFolder(there, [], missing.length > 0);
  if (top.problem !== null) return top;
  let made = top.real;
  for (const name of [...missing, ...below]) {
    made = path.join(made, name);
    try {
      fs.mkdirSync(made, 0o700);
    } catch (error) {
      if (error.code !== 'EEXIST') throw error; // an existing folder is examined below
    }
    const problem = effectiveUser() === undefined ? null : folderProblem(made, false);
    if (problem !== null) return { real: made, problem };
  }
  return { real: made, problem: null };
}

/**
 * Examines everything in a folder: only regular files and folders, no links, nothing that other users may write to. The
 * caller examines the folders above it.
 * @param {string} folder
 * @returns {string | null}
 */
function treeProblem(folder) {
  if (effectiveUser() === undefined) return null;
  const problem = folderProblem(folder, false);
  if (problem !== null) return problem;
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    const found = entry.isDirectory() ? treeProblem(file) : fileProblem(file);
    if (found !== null) return found;
  }
  return null;
}

function fileProblem(file) {
  const stat = fs.lstatSync(file);
  if (!stat.isFile()) {
    return `${shown(file)} is not a regular file${stat.isSymbolicLink() ? ' but a symbolic link' : ''}`;
  }
  return problemOf(file, stat, false);
}

module.exports = { examineFolder, makeFolder, treeProblem };
