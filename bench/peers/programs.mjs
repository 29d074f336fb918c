/** The programs that are compared: how each is started, and which packages they need. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from '../../scripts/paths.mjs';
import { runLogged } from '../../scripts/steps/command.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { cppCommand } from '../measure/cpp.mjs';

const here = (name) => inRoot('bench', 'peers', name);
const node = (name, ...args) => ({ file: `bench/peers/${name}`, command: [process.execPath, here(name)], args });
const lists = (name) => here(path.join('packages', name));
const packages = JSON.parse(readFileSync(lists('package.json'), 'utf8')).dependencies;
const installed = (name) => `${name} ${packages[name]}`;

export const OURS = 'libtorch-node';
export const CPP = 'C++ libtorch';
const OPTIMIZED = 'libtorch-node, optimized model';

/** @type {Record<string, { file: string, command: string[], args: string[], version?: string }>} */
export const programs = {
  [CPP]: { file: 'bench/cpp/peers.cpp', command: cppCommand('peers'), args: [] },
  [OURS]: node('ours.cjs'),
  'libtorch-node, no scopes': node('ours.cjs', 'gc'),
  [OPTIMIZED]: node('optimized.cjs'),
  PyTorch: { file: 'bench/peers/pytorch.py', command: [], args: [] },
  'onnxruntime-node': { ...node('onnxruntime.cjs'), version: installed('onnxruntime-node') },
  'tfjs, wasm': { ...node('tfjs.cjs', 'wasm'), version: installed('@tensorflow/tfjs-backend-wasm') },
  'tfjs-node': { ...node('tfjs.cjs', 'tensorflow'), version: installed('@tensorflow/tfjs-node') },
  'js-pytorch': { ...node('js-pytorch.cjs'), version: installed('js-pytorch') },
};

const folder = inRoot('build', 'peers');

/**
 * Installs the packages at first use instead of with the repository's, because they are large. Programs find them by PEERS.
 * @param {{ install: boolean }} options false: what is not installed is left out
 */
export async function ensurePackages({ install }) {
  process.env.PEERS = folder;
  if (!install) return;
  mkdirSync(folder, { recursive: true });
  const done = path.join(folder, 'node_modules', '.package-lock.json');
  const lock = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  if (existsSync(done) && lock(path.join(folder, 'package-lock.json')) === lock(lists('package-lock.json'))) return;
  for (const name of ['package.json', 'package-lock.json']) cpSync(lists(name), path.join(folder, name));
  // Without install scripts, which would fetch libraries: a package whose native part is missing is left out, and said so.
  await step('the compared packages', () => runLogged('peers', 'npm', ['ci', '--ignore-scripts'], { cwd: folder }));
}

/**
 * Their command lines, without those that do not start here.
 * @param {number[]} sizes @param {string | undefined} python
 * @returns {{ commands: Record<string, string[]>, missing: string[] }} `missing`: what is left out, and why
 */
export function commandsOf(sizes, python) {
  const commands = {};
  const missing = [];
  for (const [name, { file, command, args }] of Object.entries(programs)) {
    const usesPython = name === 'PyTorch' || name === OPTIMIZED;
    if (usesPython && python === undefined) {
      missing.push(`${name}: no Python with torch was found (Debian: python3-torch)`);
      continue;
    }
    const start = name === 'PyTorch' ? [python, inRoot(...file.split('/'))] : command;
    const whole = [...start, ...sizes.map(String), ...args, ...(name === OPTIMIZED ? [python] : [])];
    const { status, stderr } = spawnSync(whole[0], whole.slice(1), { input: 'check cnn\n', encoding: 'utf8' });
    if (status === 0) commands[name] = whole;
    else missing.push(`${name}: ${reasonOf(stderr ?? '')}`);
  }
  return { commands, missing };
}

/** The line of a failure that says why, without paths of this machine. */
const reasonOf = (stderr) =>
  (/^(?:\w*Error): (.*)$/m.exec(stderr)?.[1] ?? 'it does not start').split(/ at path:| at \//)[0].trim();
