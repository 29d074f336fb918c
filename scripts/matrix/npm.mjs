/**
 * npm inside a root: this machine's own, with its settings, because Debian's package of npm depends on hundreds of others.
 * The npm packages of the lock file are the same in a root as here, so they are not installed a second time.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const place = '/usr/local/lib/npm';
const settings = '/usr/local/etc/npm';

/** npm's folder; undefined for Debian's npm, whose files are spread over the system. */
function npmFolder() {
  const script = process.env.npm_execpath;
  const beside = path.resolve(process.execPath, '..', '..', 'lib/node_modules/npm');
  const folders = [...(script ? [path.resolve(script, '..', '..')] : []), beside, '/usr/local/lib/node_modules/npm'];
  return folders.find(
    (dir) => existsSync(path.join(dir, 'bin/npm-cli.js')) && existsSync(path.join(dir, 'node_modules')),
  );
}

/** Debian's npm, if this machine's cannot be mounted into a root. */
export const npmPackages = () => (npmFolder() === undefined ? ['npm'] : []);

/** npm's configuration files, by what npm calls them. */
function configFiles() {
  const prefix = process.env.npm_config_prefix ?? path.resolve(process.execPath, '..', '..');
  return {
    userconfig: process.env.npm_config_userconfig ?? path.join(os.homedir(), '.npmrc'),
    globalconfig: process.env.npm_config_globalconfig ?? path.join(prefix, 'etc/npmrc'),
  };
}

/**
 * Puts npm into a root while `work` runs. Its settings may hold passwords, so they are copied to a private folder of this
 * process, which is mounted inside only during that time.
 * @template T
 * @param {string} root
 * @param {(lent: { mounts: [string, string][], env: NodeJS.ProcessEnv }) => Promise<T>} work
 */
export async function withNpm(root, work) {
  const folder = npmFolder();
  const copies = mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-npm-'));
  const remove = () => rmSync(copies, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const env = {};
    for (const [name, file] of Object.entries(configFiles())) {
      if (!existsSync(file)) continue;
      copyFileSync(file, path.join(copies, name));
      env[`npm_config_${name}`] = `${settings}/${name}`;
    }
    const authorities = process.env.NODE_EXTRA_CA_CERTS;
    if (authorities && existsSync(authorities)) {
      copyFileSync(authorities, path.join(copies, 'authorities.pem'));
      env.NODE_EXTRA_CA_CERTS = `${settings}/authorities.pem`;
    }
    /** @type {[string, string][]} */
    const mounts = [[copies, settings]];
    for (const dir of [place, settings]) mkdirSync(path.join(root, dir), { recursive: true });
    if (folder !== undefined) {
      mounts.push([folder, place]);
      const program = `#!/bin/sh\nexec node ${place}/bin/npm-cli.js "$@"\n`;
      mkdirSync(path.join(root, 'usr/local/bin'), { recursive: true });
      writeFileSync(path.join(root, 'usr/local/bin/npm'), program, { mode: 0o755 });
    }
    return await work({ mounts, env });
  } finally {
    process.removeListener('exit', remove);
    remove();
  }
}
