'use strict';
/**
 * Whether somebody else could have put there what is about to be run. A file is trusted where this user or root owns it and
 * nobody else may write to it, and where the same holds for every folder above it, up to the root. Once that holds for a path
 * without links it stays so: nobody else can change any part of it. So it is the path that was examined which is loaded.
 *
 * A folder that all may write to and that is sticky (/tmp) may be above the trusted one: nobody takes the place of what
 * others have there. On systems without user ids nothing is examined.
 */
const fs = require('node:fs');
const path = require('node:path');
const { printable: shown } = require('./printable.js');

/** Write permission of the group and of all others. A list of access control shows in the group's. */
const OTHERS = 0o022;
const STICKY = 0o1000;

const effectiveUser = () => process.geteuid?.();

/** Why it is another user's, or null. */
function ownerProblem(file, stat) {
  const user = effectiveUser();
  if (user === undefined || stat.uid === user || stat.uid === 0) return null;
  const expected = user === 0 ? 'root' : `uid ${user} or root`;
  return `${shown(file)} belongs to uid ${stat.uid}, expected ${expected}: remove it, or use another folder`;
}

/** Why others could have changed it, or null. */
function problemOf(file, stat, stickyIsFine) {
  if (effectiveUser() === undefined) return null;
  const problem = ownerProblem(file, stat);
  if (problem !== null) return problem;
  if ((stat.mode & OTHERS) === 0 || (stickyIsFine && (stat.mode & STICKY) !== 0)) return null;
  const mode = (stat.mode & 0o7777).toString(8).padStart(4, '0');
  return `${shown(file)} can be written by other users (mode ${mode}): chmod go-w it once what is in it is known to be yours`;
}

/** Why a folder on the way is none that may be gone through, or null. */
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

/** As many links as the kernel follows in one path. */
const MOST_LINKS = 40;

/**
 * The path without links, as realpath has it. A link of another user is a problem: its owner may turn it at any time.
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
    if (++links > MOST_LINKS) return { real: folder, problem: `${shown(folder)} is reached by too many links` };
    const target = fs.readlinkSync(next);
    if (path.isAbsolute(target)) at = path.parse(target).root;
    parts.unshift(...target.split(path.sep));
  }
  return { real: at, problem: null };
}

/**
 * Examines a folder that is there, the folders above it, and below it those on the way to `below`.
 * @param {string} folder may be reached by links of this user and of root
 * @param {string[]} below names of folders, one in the other; none of them may be a link
 * @param {boolean} isAbove whether it only is above what is to be trusted: then it may be sticky
 * @returns {{ real: string, problem: string | null }} the path that was examined, and why it is not trusted
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
  // From the top: what was found to be trusted above cannot be replaced any more while the rest is looked at.
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
 * Makes a folder for this user alone, and those above it that are missing, and examines it as `examineFolder` does. Nothing is
 * made where what is there already is not trusted. Only the path that is returned is the one that was examined: by its name,
 * the folder may be another one by the time that it is used.
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
      if (error.code !== 'EEXIST') throw error; // then it is examined as it is
    }
    const problem = effectiveUser() === undefined ? null : folderProblem(made, false);
    if (problem !== null) return { real: made, problem };
  }
  return { real: made, problem: null };
}

/**
 * Examines everything in a folder: regular files and folders, no links, none that others may write to. The folders above it
 * are the caller's to examine.
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
