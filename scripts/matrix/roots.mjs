/**
 * Roots: whole small Debian systems, one per release, made by debootstrap in a cache folder and used again.
 * `LIBTORCH_NODE_ROOTS` names the folder; a root that is being made has another name until it is whole.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { runLogged } from '../steps/command.mjs';
import { StepError } from '../steps/errors.mjs';
import { packagesFor } from '../steps/packages.mjs';
import { step } from '../steps/progress.mjs';
import { mountsBelow, runInside } from './enter.mjs';
import { findMirror, proxyEnv } from './mirror.mjs';

/** Releases that the project promises to work on, besides the one it is developed on. */
export const releases = ['trixie', 'forky'];

/** Node and its headers, and git, which some tests ask for the list of files. */
const extra = ['nodejs', 'libnode-dev', 'git'];

export const rootsFolder = () =>
  path.resolve(
    process.env.LIBTORCH_NODE_ROOTS ||
      path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'libtorch-node', 'roots'),
  );

/** @param {string} release */
export const rootOf = (release) => path.join(rootsFolder(), release);

/** Everything that a root needs of this machine, refused in words before anything is made. */
export function requireMachine() {
  if (process.getuid?.() !== 0) {
    throw new StepError(
      'The matrix needs root: it makes whole Debian systems with debootstrap and runs in them with chroot.\n' +
        'Run `sudo npm run matrix`, or `npm test` alone, which checks the libtorch of this machine.',
    );
  }
  const programs = ['debootstrap', 'chroot', 'unshare', 'setpriv', 'mount'];
  const missing = programs.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
  if (missing.length > 0) {
    throw new StepError(
      `The matrix needs ${missing.join(', ')}: apt-get install --yes debootstrap util-linux mount coreutils`,
    );
  }
}

/** debootstrap knows releases by scripts of their names; all newer ones are built as sid is. */
function scriptOf(release) {
  const scripts = '/usr/share/debootstrap/scripts';
  return existsSync(path.join(scripts, release)) ? [] : [path.join(scripts, 'sid')];
}

function removeFolder(folder) {
  const mounted = mountsBelow(folder);
  if (mounted.length > 0) {
    throw new StepError(`${folder} is not removed, because there are mounts in it: ${mounted.join(', ')}`);
  }
  rmSync(folder, { recursive: true, force: true });
}

/** debootstrap mounts too, so it runs in namespaces of its own like everything else. */
async function bootstrap(release, folder) {
  const { uri, keyring } = findMirror();
  const namespaces = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'];
  const trusted = keyring !== undefined && existsSync(keyring) ? [`--keyring=${keyring}`] : [];
  const args = ['--variant=minbase', ...trusted, release, folder, uri, ...scriptOf(release)];
  await runLogged(`debootstrap-${release}`, 'setpriv', ['--pdeathsig', 'KILL', ...namespaces, 'debootstrap', ...args], {
    env: { ...process.env, ...proxyEnv() },
  });
}

async function installPackages(release, folder, packages) {
  const certificates = '/etc/ssl/certs/ca-certificates.crt';
  if (existsSync(certificates)) {
    mkdirSync(path.join(folder, path.dirname(certificates)), { recursive: true });
    copyFileSync(certificates, path.join(folder, certificates));
  }
  // No service may start in a root.
  writeFileSync(path.join(folder, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n');
  chmodSync(path.join(folder, 'usr/sbin/policy-rc.d'), 0o755);
  const env = { ...proxyEnv(), DEBIAN_FRONTEND: 'noninteractive' };
  const install = `apt-get update && apt-get install --yes --no-install-recommends ${packages.join(' ')} && apt-get clean`;
  const status = await runInside({ root: folder, env }, '/bin/sh', ['-c', install]);
  if (status !== 0) throw new StepError(`apt-get failed in the root of ${release} (status ${status}); see above.`);
}

/**
 * The root of a release, made when it is not there.
 * @param {string} release
 * @param {{ fresh?: boolean, more?: string[] }} [options] fresh: made anew; more: further packages
 */
export async function ensureRoot(release, { fresh = false, more = [] } = {}) {
  const folder = rootOf(release);
  if (fresh) removeFolder(folder);
  if (existsSync(folder)) return folder;
  const partial = `${folder}.partial`;
  removeFolder(partial);
  mkdirSync(partial, { recursive: true });
  const packages = [...packagesFor(['build', 'tests'], {}), ...extra, ...more];
  await step(`${release}: root in ${folder}`, () => bootstrap(release, partial));
  await step(`${release}: packages`, () => installPackages(release, partial, packages));
  renameSync(partial, folder);
  return folder;
}
