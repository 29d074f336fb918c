/**
 * Records a step's inputs, so that it runs again only when they changed. A stamp holds size, time and hash of every input
 * file and a few plain values; a file whose time changed but not its content counts as unchanged.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inRoot, root, stampDir } from '../paths.mjs';
import { StepError } from './errors.mjs';

/**
 * Files below the given files and folders of the checkout whose name ends in one of `endings`.
 * @param {string[]} places
 * @param {string[]} endings
 * @returns {string[]} absolute paths, sorted
 */
export function filesBelow(places, endings) {
  const found = [];
  const visit = (file) => {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat?.isDirectory()) for (const name of readdirSync(file)) visit(path.join(file, name));
    else if (stat && endings.some((ending) => file.endsWith(ending))) found.push(file);
  };
  for (const place of places) visit(inRoot(place));
  return found.sort();
}

const hashOf = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');
const relative = (file) => path.relative(root, file);
const stampFile = (name) => path.join(stampDir, `${name}.json`);

function readStamp(name) {
  try {
    return JSON.parse(readFileSync(stampFile(name), 'utf8'));
  } catch {
    return undefined; // missing, or incomplete after an interruption: the step runs again
  }
}

function sameFile(file, known) {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined || known === undefined || stat.size !== known.size) return false;
  return stat.mtimeMs === known.mtimeMs || hashOf(file) === known.hash;
}

/**
 * @typedef {object} Inputs
 * @property {string[]} files
 * @property {Record<string, unknown>} [values]
 * @property {string[]} [outputs] that must still exist
 */

/** @param {string} name @param {Inputs} inputs */
export function isUpToDate(name, { files, values = {}, outputs = [] }) {
  const stamp = readStamp(name);
  if (stamp === undefined || JSON.stringify(stamp.values) !== JSON.stringify(values)) return false;
  if (!outputs.every((file) => existsSync(file))) return false;
  if (Object.keys(stamp.files).length !== files.length) return false;
  return files.every((file) => sameFile(file, stamp.files[relative(file)]));
}

/** The current inputs; taken before a step begins, so that an edit made while it runs is not missed. */
function snapshot({ files, values = {} }) {
  const entries = files.map((file) => {
    const { size, mtimeMs } = statSync(file);
    return [relative(file), { size, mtimeMs, hash: hashOf(file) }];
  });
  return JSON.stringify({ values, files: Object.fromEntries(entries) });
}

/**
 * Does the work if its inputs changed since the last time.
 * @param {string} name
 * @param {Inputs} inputs
 * @param {() => Promise<unknown>} work
 */
export async function whenChanged(name, inputs, work) {
  if (isUpToDate(name, inputs)) return;
  rmSync(stampFile(name), { force: true });
  const stamp = snapshot(inputs);
  await work();
  const unwritten = (inputs.outputs ?? []).filter((file) => !existsSync(file));
  if (unwritten.length > 0) throw new StepError(`${name} ended without writing ${unwritten.map(relative).join(', ')}.`);
  mkdirSync(stampDir, { recursive: true });
  writeFileSync(stampFile(name), stamp);
}
