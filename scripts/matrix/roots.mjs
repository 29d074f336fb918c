/**
 * Roots: small Debian systems, one per release, made by debootstrap in a cache folder and reused.
 * `LIBTORCH_NODE_ROOTS` names the folder; an incomplete root has a temporary name.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { logDir } from '../paths.mjs';
import { runLogged } from '../steps/command.mjs';
import { StepError } from '../steps/errors.mjs';
import { ensurePackages, isOnPath, packagesFor } from '../steps/packages.mjs';
import { say, step } from '../steps/progress.mjs';
import { findMirror, proxyEnv } from './mirror.mjs';
import { mountsBelow, runInside } from './run-in-root.mjs';

/** Releases that the project supports, besides the one it is developed on. */
export const releases = ['trixie', 'forky'];

/**
 * Node and its headers; git, because some tests list files with it; and setuptools, which PyTorch imports when it compiles
 * a model although its package does not depend on it in every release.
 */
const extra = ['nodejs', 'libnode-dev', 'git', 'python3-setuptools'];

export const rootsFolder = () =>
  path.resolve(
    process.env.LIBTORCH_NODE_ROOTS ||
      path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'libtorch-node', 'roots'),
  );

/** @param {string} release */
export const rootOf = (release) => path.join(rootsFolder(), release);

/** What `ensureRoot` will take on two cores, most of it downloads (docs/matrix.md). @param {string} release @returns {number} ms */
export const makingTime = (release) => (existsSync(rootOf(release)) ? 0 : 7 * 60_000);

/** Checks what a root needs of this machine before anything is made; installs missing packages where possible, else throws. */
export async function requireMachine() {
  if (process.getuid?.() !== 0) {
    throw new StepError(
      'The matrix needs root: it makes whole Debian systems with debootstrap and runs in them with chroot.\n' +
        'Run `sudo npm run matrix`, or `npm test` alone, which checks the libtorch of this machine.',
    );
  }
  const programs = ['debootstrap', 'chroot', 'unshare', 'setpriv', 'mount'];
  const missing = () => programs.filter((name) => !isOnPath(name));
  if (missing().length > 0 && isOnPath('apt-get')) await ensurePackages(['matrix']);
  if (missing().length > 0) {
    throw new StepError(
      `The matrix needs ${missing().join(', ')}: apt-get install --yes debootstrap util-linux mount coreutils`,
    );
  }
  const trial = 'mount --bind /usr /mnt && mount -o remount,bind,ro /mnt && mount -t proc proc /proc';
  const words = ['--mount', '--pid', '--fork', '--propagation', 'private', '--', 'sh', '-c', trial];
  const { status, stderr } = spawnSync('unshare', words, { encoding: 'utf8' });
  if (status !== 0) {
    throw new StepError(
      `The matrix needs mount and process namespaces, which this machine refuses: ${stderr.trim()}\n` +
        'In a container, start that with --privileged or --cap-add SYS_ADMIN; `npm test` alone does not need it.',
    );
  }
}

/** debootstrap has one script per release; releases newer than debootstrap are built as sid is. */
function scriptOf(release) {
  const scripts = '/usr/share/debootstrap/scripts';
  return existsSync(path.join(scripts, release)) ? [] : [path.join(scripts, 'sid')];
}

function removeFolder(folder) {
  const mounted = mountsBelow(folder);
  if (mounted.length > 0) {
    throw new StepError(`${folder} is not removed, because it contains mounts: ${mounted.join(', ')}`);
  }
  rmSync(folder, { recursive: true, force: true });
}

/** debootstrap mounts too, so it also runs in its own namespaces. */
async function bootstrap(release, folder) {
  const { uri, keyring } = findMirror();
  const namespaces = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'];
  const trusted = keyring !== undefined && existsSync(keyring) ? [`--keyring=${keyring}`] : [];
  const args = ['--variant=minbase', ...trusted, release, folder, uri, ...scriptOf(release)];
  const command = ['--pdeathsig', 'KILL', ...namespaces, 'debootstrap', ...args];
  const env = { ...process.env, ...proxyEnv() };
  // A mirror may fail temporarily, and debootstrap cannot resume.
  for (let left = 2; ; left--) {
    removeFolder(folder);
    mkdirSync(folder, { recursive: true });
    try {
      return await runLogged(`debootstrap-${release}`, 'setpriv', command, { env });
    } catch (error) {
      if (left === 0 || !(error instanceof StepError)) throw error;
      say(`debootstrap failed; retrying in 20 s. Its output:\n${error.message.split('\n').slice(-6).join('\n')}`);
      await sleep(20_000);
    }
  }
}

/**
 * apt's retries for each file, and its timeout for a mirror that does not answer. A mirror may be a snapshot whose
 * Valid-Until date has passed: its signature is still Debian's, and a root does not need to be up to date.
 */
const patience = [
  ...['Acquire::Retries=5', 'Acquire::http::Timeout=60', 'Acquire::https::Timeout=60'],
  'Acquire::Check-Valid-Until=false',
];

async function installPackages(release, folder, packages) {
  // No service may start in a root.
  writeFileSync(path.join(folder, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n');
  chmodSync(path.join(folder, 'usr/sbin/policy-rc.d'), 0o755);
  const env = { ...proxyEnv(), DEBIAN_FRONTEND: 'noninteractive' };
  const apt = ['apt-get', ...patience.flatMap((setting) => ['-o', setting])].join(' ');
  const install = `${apt} update && ${apt} install --yes --no-install-recommends ${packages.join(' ')}`;
  // A mirror may be updated while apt reads it, so apt tries again a little later.
  const command = `(${install}) || (sleep 20; ${install}) && apt-get clean`;
  mkdirSync(logDir, { recursive: true });
  const log = path.join(logDir, `packages-${release}.log`);
  const out = openSync(log, 'w');
  try {
    const status = await runInside({ root: folder, env, stdio: ['ignore', out, out] }, '/bin/sh', ['-c', command]);
    if (status === 0) return;
    const end = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-20).join('\n');
    throw new StepError(`${end}\n\napt-get failed in the root of ${release} (status ${status}). Full log: ${log}`);
  } finally {
    closeSync(out);
  }
}

const isInstalled = (folder, name) =>
  readdirSync(path.join(folder, 'var/lib/dpkg/info')).some(
    (file) => file === `${name}.list` || (file.startsWith(`${name}:`) && file.endsWith('.list')),
  );

/**
 * The root of a release, made if it does not exist. An existing one gets the packages that were added to the list since.
 * @param {string} release
 * @param {{ fresh?: boolean, more?: string[] }} [options] fresh: recreate the root; more: further packages
 */
export async function ensureRoot(release, { fresh = false, more = [] } = {}) {
  const folder = rootOf(release);
  if (fresh) removeFolder(folder);
  const packages = [...packagesFor(['build', 'tests'], {}), ...extra, ...more];
  if (existsSync(folder)) {
    const missing = packages.filter((name) => !isInstalled(folder, name));
    if (missing.length > 0) {
      await step(`${release}: packages ${missing.join(' ')}`, () => installPackages(release, folder, missing));
    }
    return folder;
  }
  const partial = `${folder}.partial`;
  await step(`${release}: root in ${folder}`, () => bootstrap(release, partial));
  await step(`${release}: packages`, () => installPackages(release, partial, packages));
  renameSync(partial, folder);
  return folder;
}

/**
 * The root of a release as debootstrap makes it, without any further package.
 * @param {string} release
 * @param {{ fresh?: boolean }} [options]
 */
export async function ensureBareRoot(release, { fresh = false } = {}) {
  const folder = path.join(rootsFolder(), `bare-${release}`);
  if (fresh) removeFolder(folder);
  if (existsSync(folder)) return folder;
  const partial = `${folder}.partial`;
  await step(`${release}: bare root in ${folder}`, () => bootstrap(release, partial));
  renameSync(partial, folder);
  return folder;
}
