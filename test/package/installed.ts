/** The package as packed by npm, installed into an empty project without install scripts. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Outcome, run } from '../support/child';
import { once } from '../support/once';
import { folder } from './folder';
import { outsideNpm, packed } from './tarball';

const cache = folder();
export const project = path.join(folder(), 'project');
export const installed = path.join(project, 'node_modules/libtorch-node');

export const command = (name: string, args: string[], cwd = project): Promise<Outcome> =>
  run('sh', ['-c', 'cd "$0" && exec "$@"', cwd, name, ...args], {
    env: { ...outsideNpm(), LIBTORCH_NODE_CACHE: path.join(cache, 'cache') },
  });

export function write(name: string, text: string): string {
  fs.mkdirSync(path.dirname(path.join(project, name)), { recursive: true });
  fs.writeFileSync(path.join(project, name), text);
  return name;
}

/** A copy of the project that npm installed the package into, once in a run of Jest. @returns the tarball that was installed */
export async function install(): Promise<string> {
  const tarball = await packed();
  const made = await once('project', async (at) => {
    fs.writeFileSync(path.join(at, 'package.json'), '{ "name": "project", "version": "1.0.0", "private": true }');
    const flags = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
    const { code, stderr } = await command('npm', ['install', ...flags, tarball], at);
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  });
  fs.cpSync(made, project, { recursive: true, verbatimSymlinks: true });
  return tarball;
}

/** Every file of the installed package. */
export const files = (): string[] =>
  (fs.readdirSync(installed, { recursive: true }) as string[]).filter((name) =>
    fs.statSync(path.join(installed, name)).isFile(),
  );
