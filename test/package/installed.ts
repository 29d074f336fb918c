/** The package as packed by npm, installed into an empty project without install scripts. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Outcome, run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { folder } from './folder';
import { packedInto } from './tarball';

const packing = folder();
export const project = path.join(folder(), 'project');
export const installed = path.join(project, 'node_modules/libtorch-node');

/** An environment as outside npm: otherwise variables of `npm test` would affect the npm of the tests. */
function environment(): NodeJS.ProcessEnv {
  const plain = Object.entries(ordinaryEnv()).filter(
    ([name]) => !/^(npm_(?!config)|npm_config_nodedir|LIBTORCH|NODE_OPTIONS|JEST)/.test(name),
  );
  return { ...Object.fromEntries(plain), NO_COLOR: '1', LIBTORCH_NODE_CACHE: path.join(packing, 'cache') };
}

export const command = (name: string, args: string[], cwd = project): Promise<Outcome> =>
  run('sh', ['-c', 'cd "$0" && exec "$@"', cwd, name, ...args], { env: environment() });

export function write(name: string, text: string): string {
  fs.mkdirSync(path.dirname(path.join(project, name)), { recursive: true });
  fs.writeFileSync(path.join(project, name), text);
  return name;
}

/** @returns the tarball that was installed */
export async function install(): Promise<string> {
  const tarball = await packedInto(packing, environment());
  write('package.json', '{ "name": "project", "version": "1.0.0", "private": true }');
  const flags = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  const { code, stderr } = await command('npm', ['install', ...flags, tarball]);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return tarball;
}

/** Every file of the installed package. */
export const files = (): string[] =>
  (fs.readdirSync(installed, { recursive: true }) as string[]).filter((name) =>
    fs.statSync(path.join(installed, name)).isFile(),
  );
