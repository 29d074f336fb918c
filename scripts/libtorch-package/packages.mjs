/** Downloads packages of a Debian release by name, with an apt whose settings, lists and cache are all in one folder. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { findMirror, proxyEnv } from '../matrix/mirror.mjs';
import { runLogged } from '../steps/command.mjs';
import { StepError } from '../steps/errors.mjs';

const fields = (deb) => {
  const { stdout, status } = spawnSync('dpkg-deb', ['-f', deb, 'Package', 'Version', 'Source'], { encoding: 'utf8' });
  if (status !== 0) throw new StepError(`${deb} is not a Debian package.`);
  return Object.fromEntries([...stdout.matchAll(/^(\w+): (.*)$/gm)].map(([, name, value]) => [name, value]));
};

/**
 * Reads the lists of a release for a processor, which may be another one than this machine's.
 * @returns {Promise<NodeJS.ProcessEnv>} for apt-get
 */
async function updateLists(folder, { release, architecture }) {
  const { uri, keyring } = findMirror();
  for (const dir of ['etc/apt.conf.d', 'etc/preferences.d', 'state/lists/partial', 'cache/archives/partial']) {
    mkdirSync(path.join(folder, dir), { recursive: true });
  }
  const at = (name) => path.join(folder, name);
  writeFileSync(at('status'), '');
  const signed = keyring !== undefined && existsSync(keyring) ? `[signed-by=${keyring}] ` : '';
  writeFileSync(at('etc/sources.list'), `deb ${signed}${uri} ${release} main\n`);
  const settings = [
    `Dir::Etc "${at('etc')}"; Dir::Etc::sourcelist "sources.list"; Dir::Etc::sourceparts "-";`,
    `Dir::State "${at('state')}"; Dir::State::status "${at('status')}"; Dir::Cache "${at('cache')}";`,
    `APT::Architecture "${architecture}"; APT::Architectures "${architecture}"; APT::Sandbox::User "root";`,
    'Acquire::Languages "none"; Acquire::Check-Valid-Until "false"; Acquire::Retries "5";',
  ];
  writeFileSync(at('apt.conf'), `${settings.join('\n')}\n`);
  const env = { ...process.env, ...proxyEnv(), APT_CONFIG: at('apt.conf') };
  await runLogged('libtorch-package-update', 'apt-get', ['update'], { env });
  return env;
}

/**
 * @param {string} folder
 * @param {{ release: string, architecture: string, names: string[] }} wanted
 * @returns {Promise<Map<string, { version: string, source: string, folder: string }>>} where each one is unpacked
 */
export async function fetchPackages(folder, { release, architecture, names }) {
  const env = await updateLists(folder, { release, architecture });
  const at = (name) => path.join(folder, name);
  mkdirSync(at('debs'), { recursive: true });
  // Old versions of a package would otherwise be found beside the new one.
  for (const deb of readdirSync(at('debs'))) rmSync(path.join(at('debs'), deb));
  await runLogged('libtorch-package-download', 'apt-get', ['download', ...names], { env, cwd: at('debs') });
  const found = new Map();
  for (const deb of readdirSync(at('debs')).sort()) {
    const { Package: name, Version: version, Source: source } = fields(path.join(at('debs'), deb));
    const unpacked = path.join(folder, 'unpacked', name);
    rmSync(unpacked, { recursive: true, force: true });
    mkdirSync(unpacked, { recursive: true });
    await runLogged('libtorch-package-unpack', 'dpkg-deb', ['-x', path.join(at('debs'), deb), unpacked]);
    found.set(name, { version, source: (source ?? name).split(' ')[0], folder: unpacked });
  }
  const missing = names.filter((name) => !found.has(name));
  if (missing.length > 0) throw new StepError(`apt did not bring ${missing.join(', ')} of ${release}.`);
  return found;
}

/** Unpacks into a system in which /lib and the like are links to those in /usr, without running scripts of packages. */
const unpack = `set -euo pipefail
root=$1; shift
for name in bin lib sbin; do mkdir -p "$root/usr/$name"; ln -sfn "usr/$name" "$root/$name"; done
for deb in "$@"; do dpkg-deb --fsys-tarfile "$deb" | tar -C "$root" --keep-directory-symlink -xf -; done`;

/**
 * Unpacks packages and all that they need into one folder, for programs that run under an emulator there.
 * @param {string} folder
 * @param {{ release: string, architecture: string, names: string[] }} wanted
 * @returns {Promise<string>} the folder of the system
 */
export async function fetchSystem(folder, { release, architecture, names }) {
  const root = path.join(folder, 'root');
  const complete = path.join(folder, 'complete.json');
  const wanted = JSON.stringify({ release, architecture, names });
  if (existsSync(complete) && readFileSync(complete, 'utf8') === wanted) return root;
  for (const old of [complete, root]) rmSync(old, { recursive: true, force: true });
  const env = await updateLists(folder, { release, architecture });
  const archives = path.join(folder, 'cache/archives');
  const found = () => readdirSync(archives).filter((name) => name.endsWith('.deb'));
  for (const old of found()) rmSync(path.join(archives, old));
  const download = ['install', '--yes', '--download-only', '--no-install-recommends', ...names];
  await runLogged('system-download', 'apt-get', download, { env });
  const files = found()
    .sort()
    .map((name) => path.join(archives, name));
  await runLogged('system-unpack', 'bash', ['-c', unpack, 'unpack', root, ...files]);
  for (const file of files) rmSync(file);
  writeFileSync(complete, wanted);
  return root;
}
