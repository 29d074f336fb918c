/** The Debian packages for each purpose: finds the missing ones and installs them. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isNamed } from '../libtorch.mjs';
import { runLogged } from './command.mjs';
import { StepError } from './errors.mjs';
import { step } from './progress.mjs';

const wanted = {
  /** Debian's libtorch falls back to a reference BLAS, twenty times slower, if no other is installed. */
  libtorch: ['libtorch-dev', 'libopenblas0-pthread'],
  /** The headers of torch.distributed's transport; Debian's libtorch uses its library. */
  distributed: ['libgloo-dev'],
  build: ['g++', 'make', 'cmake', 'python3', 'libyaml-cpp-dev'],
  lint: ['clang-format'],
  /** A headless browser for the pages of leak-audit; zsh and fish for its completion. */
  tests: [
    ...['libgtest-dev', 'python3-torch', 'python3-yaml'],
    ...['chromium-headless-shell', 'fonts-dejavu-core', 'zsh', 'fish'],
  ],
  /** The servers that `npm run bench:service` compares with. */
  service: ['python3-uvicorn', 'python3-uvloop', 'python3-httptools'],
  valgrind: ['valgrind'],
  matrix: ['debootstrap', 'util-linux', 'mount'],
  /** `npm run package:libtorch` */
  package: ['g++', 'binutils', 'libdeflate-tools'],
  /** `npm run prebuild -- --arch arm64` and `npm run test:qemu` */
  cross: ['g++-aarch64-linux-gnu'],
  emulator: ['qemu-user'],
};

/** @typedef {'build' | 'lint' | 'tests' | 'service' | 'valgrind' | 'matrix' | 'package' | 'cross' | 'emulator'} Purpose */

/**
 * @param {Purpose[]} purposes
 * @param {NodeJS.ProcessEnv} [env] may name a libtorch that is not a Debian package
 */
export function packagesFor(purposes, env = process.env) {
  const groups = purposes.includes('build') && !isNamed(env) ? ['libtorch', 'distributed', ...purposes] : purposes;
  return [...new Set(groups.flatMap((group) => wanted[group]))];
}

const isDebian = () => existsSync('/usr/bin/dpkg-query') && existsSync('/usr/bin/apt-get');

function installed(packages) {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query's own placeholders
  const format = '${db:Status-Status} ${Package}\n';
  const { stdout, error } = spawnSync('dpkg-query', ['-W', '-f', format, ...packages], { encoding: 'utf8' });
  if (error) throw new StepError(`dpkg-query could not be run: ${error.message}`);
  const lines = stdout.split('\n').filter((line) => line.startsWith('installed '));
  return new Set(lines.map((line) => line.slice('installed '.length)));
}

/**
 * What is missing, and the one command that installs it.
 * @param {Purpose[]} purposes
 * @returns {{ missing: string[], command: string }}
 */
export function missingPackages(purposes) {
  const packages = packagesFor(purposes);
  const present = isDebian() ? installed(packages) : new Set();
  const missing = packages.filter((name) => !present.has(name));
  const sudo = process.getuid?.() === 0 ? '' : 'sudo ';
  const apt = `${sudo}apt-get -o Acquire::Retries=5`;
  return { missing, command: `${apt} update && ${apt} install --yes --no-install-recommends ${missing.join(' ')}` };
}

const programs = {
  build: ['g++', 'make', 'cmake', 'python3'],
  lint: ['clang-format'],
  tests: [],
  service: [],
  valgrind: ['valgrind'],
  matrix: ['debootstrap', 'unshare', 'setpriv', 'mount'],
  package: ['g++', 'readelf', 'nm', 'libdeflate-gzip', 'apt-get', 'dpkg-deb'],
  cross: ['aarch64-linux-gnu-g++'],
  emulator: ['qemu-aarch64'],
};
/** @param {string} name of a program */
export const isOnPath = (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;

/** Without Debian's package manager only programs can be checked; the build itself reports missing libraries. */
function requirePrograms(purposes) {
  const missing = purposes.flatMap((purpose) => programs[purpose]).filter((name) => !isOnPath(name));
  if (missing.length === 0) return;
  throw new StepError(
    `This is not a Debian system, so nothing was installed. Not found on the PATH: ${missing.join(', ')}.\n` +
      `Install the equivalents of Debian's packages ${packagesFor(purposes).join(', ')}.`,
  );
}

/**
 * Installs the missing packages when run by root, else throws with the command that does.
 * @param {Purpose[]} purposes
 */
export async function ensurePackages(purposes) {
  if (!isDebian()) return requirePrograms(purposes);
  const { missing, command } = missingPackages(purposes);
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0) {
    throw new StepError(
      `These Debian packages are missing: ${missing.join(', ')}.\nInstall them and try again:\n\n  ${command}\n`,
    );
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await step(`Debian packages: ${missing.join(' ')}`, () => runLogged('packages', 'sh', ['-ec', command], { env }));
}
