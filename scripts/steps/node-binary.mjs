/** Node's own binaries from npm, in build/nodes. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from '../paths.mjs';
import { runLogged } from './command.mjs';
import { StepError } from './errors.mjs';
import { step } from './progress.mjs';

const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

/** @param {string} node */
export const versionOf = (node) => spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.trim() ?? '';

/** @param {string} major @returns {Promise<string>} npm's binary of a release of Node */
export async function npmNode(major) {
  const folder = inRoot('build', 'nodes', major);
  const name = `node-${platform}`;
  const binary = path.join(folder, 'node_modules', name, 'bin', 'node');
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n');
    const args = ['install', '--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--prefix', folder];
    await step(`Node ${major} from npm`, () => runLogged(`node-${major}`, 'npm', [...args, `${name}@${major}`]));
  }
  if (!versionOf(binary).startsWith(`v${major}.`))
    throw new StepError(`expected Node ${major}, got ${versionOf(binary) || 'no version'} from ${binary}`);
  return binary;
}
