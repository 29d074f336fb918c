/** Node's own binaries from npm, in build/nodes. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from '../paths.mjs';
import { runLogged } from './command.mjs';
import { StepError } from './errors.mjs';
import { step } from './progress.mjs';

/** @param {string} node */
export const versionOf = (node) => spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.trim() ?? '';

const versionIn = (manifest) => JSON.parse(readFileSync(manifest, 'utf8')).version;

/**
 * @param {string} major
 * @param {string} [arch] another processor than this machine's: its binary is not run here
 * @returns {Promise<string>} npm's binary of a release of Node
 */
export async function npmNode(major, arch = process.arch) {
  const isOwn = arch === process.arch;
  const folder = inRoot('build', 'nodes', isOwn ? major : `${major}-${arch}`);
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${arch}`;
  const binary = path.join(folder, 'node_modules', name, 'bin', 'node');
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n');
    const args = ['install', '--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--prefix', folder];
    // npm refuses packages for another processor otherwise.
    const packages = [...(isOwn ? [] : ['--force']), `${name}@${major}`];
    await step(`Node ${major} from npm for ${arch}`, () => runLogged(`node-${major}`, 'npm', [...args, ...packages]));
  }
  const version = isOwn ? versionOf(binary) : `v${versionIn(path.join(binary, '../../package.json'))}`;
  if (!version.startsWith(`v${major}.`))
    throw new StepError(`expected Node ${major}, got ${version || 'no version'} from ${binary}`);
  return binary;
}
