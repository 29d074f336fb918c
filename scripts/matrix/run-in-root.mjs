/**
 * Runs commands inside a root.
 *
 * Each command runs in its own mount and process namespaces. When the command or this process ends, in whatever way
 * (setpriv sets the parent-death signal), the kernel kills the processes inside and removes the mounts. The mounts are
 * invisible outside, so none can be left over, and nothing can be deleted through them.
 */
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { StepError } from '../steps/errors.mjs';

/** Files that a root takes from this machine: DNS settings, and the CA certificates, which may include a proxy's. */
const shared = ['/etc/resolv.conf', '/etc/ssl/certs/ca-certificates.crt'];

function share(root) {
  for (const file of shared.filter((name) => existsSync(name))) {
    mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
    copyFileSync(file, path.join(root, file));
  }
}

/** Mounts, then becomes the command inside. Arguments: the root, pairs of "from" and "to" up to "--", the command. */
const enter = `
set -eu
root=$1; shift
# The root must be a mount point, so that programs inside can make namespaces again.
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
while [ "$1" != -- ]; do
  mount --bind "$1" "$root$2"
  mount -o remount,bind,ro "$root$2"
  shift 2
done
shift
exec chroot "$root" /bin/sh -ec 'cd "$1"; shift; exec "$@"' sh "$@"
`;

/** The variables that a command inside inherits: settings of libtorch-node and of npm, but not paths. */
const isPassed = (name) =>
  /^(LTN_|LIBTORCH_NODE_)/.test(name) ||
  ['CI', 'TERM', 'NO_COLOR', 'FORCE_COLOR'].includes(name) ||
  /^npm_config_(registry|.*:?registry|.*proxy|strict_ssl|cafile)$/i.test(name);

/**
 * @typedef {object} Inside
 * @property {string} root
 * @property {[string, string][]} [mounts] read-only inside: path here, path inside (which must exist)
 * @property {string} [cwd] inside
 * @property {NodeJS.ProcessEnv} [env] more of it
 * @property {import('node:child_process').StdioOptions} [stdio]
 */

/**
 * @param {Inside} inside
 * @param {string} command
 * @param {string[]} args
 * @returns {Promise<number>} its exit status, 128 when a signal ended it
 */
export function runInside({ root, mounts = [], cwd = '/', env = {}, stdio = ['ignore', 2, 2] }, command, args) {
  share(root);
  for (const name of ['proc', 'dev', 'sys']) mkdirSync(path.join(root, name), { recursive: true });
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => isPassed(name)));
  const paths = {
    HOME: '/root',
    LC_ALL: 'C.UTF-8',
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  };
  const namespaces = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--propagation', 'private', '--'];
  const child = spawn(
    'setpriv',
    [
      '--pdeathsig',
      'KILL',
      ...namespaces,
      'sh',
      '-c',
      enter,
      'sh',
      root,
      ...mounts.flat(),
      '--',
      cwd,
      command,
      ...args,
    ],
    { stdio, env: { ...own, ...paths, ...env } },
  );
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      const missing = 'setpriv was not found on the PATH (Debian: apt-get install util-linux).';
      reject(error.code === 'ENOENT' ? new StepError(missing) : error);
    });
    child.once('close', (code) => resolve(code ?? 128));
  });
}

/** Mount points below the folder, whoever made them. Nothing there may be deleted. */
export function mountsBelow(folder) {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((place) => place.startsWith(`${folder}/`));
}
