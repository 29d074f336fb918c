/**
 * npm run test:qemu [-- release…] [--only=TEXT]: runs the bindings for arm64 that `npm run prebuild -- --arch arm64 [release…]`
 * has made, under qemu's emulation of a user's programs: load, ops, lifetimes, workers, leak-audit. trixie is libtorch 2.6 from npm
 * (`npm run package:libtorch -- --arch arm64`) on the libraries of Debian 12; the others are the release's own libtorch and
 * libraries. Without a release it runs those whose binding is there.
 *
 * Debian's packages are unpacked, not installed, and the kernel need not know arm64 (binfmt_misc), so it needs no root. What
 * runs is slower than on a real processor by a factor of ten and more, and its threads are the host's, with the host's
 * order of memory: neither speed nor races are tested.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { core, programs } from './bare/programs.mjs';
import { fetchSystem } from './libtorch-package/packages.mjs';
import { systems, targets } from './libtorch-package/targets.mjs';
import { buildDir, inRoot } from './paths.mjs';
import { runLogged } from './steps/command.mjs';
import { runMain, StepError } from './steps/errors.mjs';
import { npmNode } from './steps/node-binary.mjs';
import { ensurePackages } from './steps/packages.mjs';
import { prebuildsDir } from './steps/prebuilds.mjs';
import { say, step } from './steps/progress.mjs';

const ARCH = 'arm64';
const NODE = '22';
/** The release whose libtorch npm brings, and the oldest system that this libtorch supports. */
const PACKED = 'trixie';
const OLDEST = 'bookworm';
const { debian, triple } = targets[ARCH];
/**
 * An early processor of 64 bits (also Graviton 1's), one with atomic instructions and dot products (Graviton 2's), and vectors of
 * 256 bits (SVE, as in Graviton 3). Signing of pointers is simplified, because qemu needs minutes for the real way.
 */
const processors = ['cortex-a72', 'neoverse-n1', 'max,sve-max-vq=2,pauth-impdef=on'];
const MAX_SECONDS = 1200;
const flags = ['--ignore-scripts', '--no-audit', '--no-fund'];
const work = path.join(buildDir, 'qemu');

const minorOf = (release) => systems[release].libtorch.replace('libtorch', '');
const bindingOf = (release) => path.join(prebuildsDir, `linux-${ARCH}`, `libtorch-${minorOf(release)}`);
const packedTarball = () => {
  const folder = path.join(buildDir, 'packages');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const name = names.find((file) => file.startsWith(`libtorch-node-libtorch-linux-${ARCH}-`) && file.endsWith('.tgz'));
  if (name !== undefined) return path.join(folder, name);
  throw new StepError(
    `There is no libtorch in build/packages: run \`npm run package:libtorch -- --arch ${ARCH}\` first.`,
  );
};

/** The tarball of libtorch-node: LTN_TARBALL, else that of this checkout. */
async function ownTarball() {
  if (process.env.LTN_TARBALL) return path.resolve(process.env.LTN_TARBALL);
  const folder = path.join(work, 'packed');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await runLogged('qemu-pack', 'npm', ['pack', '--ignore-scripts', '--pack-destination', folder]);
  return path.join(folder, readdirSync(folder)[0]);
}

/** The C and C++ libraries, and the release's own libtorch with a fast BLAS. */
const systemOf = (release) => {
  const own = release === PACKED ? [] : [systems[release].libtorch, 'libopenblas0-pthread'];
  return {
    release: release === PACKED ? OLDEST : release,
    architecture: debian,
    names: ['libc6', 'libstdc++6', 'libgcc-s1', ...own],
  };
};

/** A program of this name on the PATH is what the commands of the checks and leak-audit start. */
function writeNode(folder, root, binary) {
  const blas = `/usr/lib/${triple}/openblas-pthread`;
  const bin = path.join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const file = path.join(bin, 'node');
  // Packages are not configured here, so nothing has made links for the chosen BLAS.
  writeFileSync(file, `#!/bin/sh\nexec qemu-aarch64 -L '${root}' -E LD_LIBRARY_PATH='${blas}' '${binary}' "$@"\n`);
  chmodSync(file, 0o755);
  return bin;
}

async function install(release, own, app) {
  rmSync(app, { recursive: true, force: true });
  cpSync(inRoot('scripts', 'bare', 'app'), app, { recursive: true });
  writeFileSync(path.join(app, 'package.json'), '{ "name": "app", "version": "1.0.0", "private": true }\n');
  const tarballs = release === PACKED ? [own, packedTarball()] : [own];
  // npm refuses packages for another processor otherwise.
  await runLogged('qemu-install', 'npm', ['install', ...flags, '--force', ...tarballs], { cwd: app });
}

/** Where core.js must find libtorch and the BLAS. */
const coreOf = (release) => {
  const lib = `/usr/lib/${triple}`;
  return release === PACKED ? core : `${core} ${lib} '${lib}/openblas-pthread/lib(open)?blas'`;
};

async function test(release, own, only) {
  const folder = path.join(work, release);
  const app = path.join(folder, 'app');
  const root = await step(`${release}: packages for ${debian}`, () =>
    fetchSystem(path.join(folder, 'system'), systemOf(release)),
  );
  const bin = writeNode(folder, root, await npmNode(NODE, ARCH));
  await step(`${release}: npm install`, () => install(release, own, app));
  // By the path that qemu gives in /proc/self/maps. Under the path inside, it would look like another libtorch than the loaded one.
  const named = release === PACKED ? {} : { LIBTORCH_LIB: path.join(root, 'usr/lib', triple) };
  const failed = [];
  let ran = 0;
  for (const processor of processors) {
    for (const [title, command] of programs.filter(([name]) => name.includes(only))) {
      const text = title === 'core' ? coreOf(release) : command;
      say(`\n----- ${release}, ${processor}: ${title}`);
      const start = performance.now();
      ran += 1;
      const { status } = spawnSync('timeout', [String(MAX_SECONDS), 'bash', '-c', `set -o pipefail; ${text}`], {
        cwd: app,
        env: { ...process.env, ...named, PATH: `${bin}:${process.env.PATH}`, QEMU_CPU: processor },
        stdio: ['ignore', 2, 2],
      });
      const took = `${Math.round((performance.now() - start) / 1000)} s`;
      if (status !== 0) failed.push(`${title} (${processor})`);
      say(status === 0 ? `✓ ${title} (${took})` : `✗ ${title}: exit status ${status} (${took})`);
    }
  }
  return { release, ran, failed };
}

await runMain(async () => {
  const words = process.argv.slice(2);
  const only = words.find((word) => word.startsWith('--only='))?.slice('--only='.length) ?? '';
  const named = words.filter((word) => !word.startsWith('--only='));
  const unknown = named.filter((word) => !(word in systems));
  const usage = `npm run test:qemu [-- ${Object.keys(systems).join(' | ')}] [--only=TEXT]`;
  if (unknown.length > 0) throw new StepError(`unknown: ${unknown.join(' ')}\nusage: ${usage}`);
  const releases = named.length > 0 ? named : Object.keys(systems).filter((release) => existsSync(bindingOf(release)));
  // A given tarball has its own bindings.
  const absent = process.env.LTN_TARBALL ? [] : releases.filter((release) => !existsSync(bindingOf(release)));
  if (releases.length === 0 || absent.length > 0) {
    const names = absent.join(' ');
    throw new StepError(
      `There is no binding for ${names || ARCH}: run \`npm run prebuild -- --arch ${ARCH} ${names}\` first.`,
    );
  }
  await ensurePackages(['emulator']);
  const own = await ownTarball();
  const outcomes = [];
  for (const release of releases) outcomes.push(await test(release, own, only));
  say('');
  for (const { release, ran, failed } of outcomes) {
    say(failed.length === 0 ? `✓ ${release}: ${ran} checks` : `✗ ${release}: ${failed.join(', ')}`);
  }
  if (outcomes.every(({ ran }) => ran === 0)) throw new StepError(`--only=${only}: no check has this in its title`);
  process.exitCode = outcomes.every(({ failed }) => failed.length === 0) ? 0 : 1;
});
