/**
 * npm run test:bare [-- release…] [--fresh] [--only=TEXT] [--time[=STARTS]]: installs libtorch-node and @libtorch-node/libtorch-linux-<processor> where
 * nothing else is: in Debian's smallest system (debootstrap's minbase) with npm's Node, without apt's libtorch, BLAS or
 * compiler. Both come from a registry on the loopback interface. It runs ops, lifetimes, leak-audit, workers, Jest, a bundle,
 * pnpm, yarn, a read-only system, another user and, in bookworm, the image of the example service. bookworm is the oldest system that the package supports, forky the newest.
 *
 * `npm run package:libtorch` must have made build/packages, and prebuilds/ must hold the binding for that libtorch
 * (`npm run prebuild -- trixie`). `--only` runs the checks whose title has this text. `--time` runs none of them: it times
 * the first `require` against that with the system's libtorch of the same version (scripts/bare/starts.mjs). LTN_TARBALL names a tarball of libtorch-node, which is otherwise packed from this checkout.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { tryImage } from './bare/image.mjs';
import { core, doctor, programs } from './bare/programs.mjs';
import { serveRegistry } from './bare/registry.mjs';
import { timeStarts } from './bare/starts.mjs';
import { withNpm } from './matrix/npm.mjs';
import { ensureBareRoot, requireMachine } from './matrix/roots.mjs';
import { runInside } from './matrix/run-in-root.mjs';
import { prepareRoot } from './matrix/suite.mjs';
import { buildDir, inRoot } from './paths.mjs';
import { runLogged } from './steps/command.mjs';
import { runMain, StepError } from './steps/errors.mjs';
import { npmNode } from './steps/node-binary.mjs';
import { say } from './steps/progress.mjs';

const releases = ['bookworm', 'trixie', 'forky'];
const NODE = '22';
const PNPM = '10.17.1';
const YARN = '1.22.22';
const INSTALL = 'npm install --ignore-scripts';
const IMAGE = 'examples/service/Dockerfile';
/** The system of the image that it begins with. */
const IMAGE_RELEASE = 'bookworm';
/** The release whose own libtorch has the version of npm's. */
const { release: TIMED_RELEASE } = JSON.parse(
  readFileSync(inRoot('scripts', 'libtorch-package', 'parts.json'), 'utf8'),
);
const TIMED_STARTS = 15;
/** On a machine that does nothing else. */
const MAX_INSTALL_S = 20;
const scratch = mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-bare-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
const manifest = JSON.parse(readFileSync(inRoot('package.json'), 'utf8'));

/** Copies the two tarballs into the scratch folder. */
async function tarballs() {
  const folder = path.join(buildDir, 'packages');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const prefix = `libtorch-node-libtorch-linux-${process.arch}-`;
  const libtorch = names.find((name) => name.startsWith(prefix) && name.endsWith('.tgz'));
  if (libtorch === undefined)
    throw new StepError('build/packages has no libtorch: run `npm run package:libtorch` first.');
  cpSync(path.join(folder, libtorch), path.join(scratch, 'libtorch.tgz'));
  const given = process.env.LTN_TARBALL;
  if (given) cpSync(given, path.join(scratch, 'own.tgz'));
  else {
    const pack = ['pack', '--ignore-scripts', '--pack-destination', scratch];
    await runLogged('bare-pack', 'npm', pack);
    cpSync(path.join(scratch, `libtorch-node-${manifest.version}.tgz`), path.join(scratch, 'own.tgz'));
  }
}

const both = `libtorch-node @libtorch-node/libtorch-linux-${process.arch}`;
const flags = '--ignore-scripts --no-audit --no-fund';
const tool = (name) => `${name}@${manifest.devDependencies[name]}`;
/** Fills a new folder with the programs. */
const project = (name) => `rm -rf /srv/${name} && cp -r /srv/programs /srv/${name} && cd /srv/${name}`;

/** A folder that `docker build` could have as its context, with the model and a lock file. */
async function imageContext(root, inside) {
  const context = path.join(root, 'srv/image');
  rmSync(context, { recursive: true, force: true }); // a lock file there would name an older tarball's bytes
  mkdirSync(context, { recursive: true });
  const { fastify, 'prom-client': client } = manifest.devDependencies;
  const own = Object.fromEntries(both.split(' ').map((name) => [name, '*']));
  const dependencies = { ...own, fastify, 'prom-client': client };
  writeFileSync(path.join(context, 'package.json'), `${JSON.stringify({ private: true, dependencies })}\n`);
  const python = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3'; // Debian's has PyTorch
  await runLogged('bare-model', python, [
    inRoot('examples/service/model.py'),
    path.join(context, 'model.pt'),
    '--epochs',
    '1',
  ]);
  const lock = `cd /srv/image && npm install --package-lock-only ${flags} >/dev/null`;
  const status = await runInside(inside, '/bin/bash', ['-c', lock]);
  if (status !== 0) throw new StepError(`npm install --package-lock-only ended with status ${status}.`);
  return context;
}

/** What is run inside, each in a shell of its own. */
const checks = [
  ['no libtorch and no BLAS of the system', '! ls /usr/lib/*/ | grep -E "^lib(torch|c10|openblas|blas|gfortran|gomp)"'],
  [
    INSTALL,
    `${project('app')} && TIMEFORMAT='%R s, processor time %U s + %S s' && time npm install ${flags} ${both} &&
     du -sm node_modules`,
  ],
  [
    'doctor',
    `cd /srv/app && ${doctor} > doctor.txt; cat doctor.txt; grep -q "with OpenBLAS" doctor.txt &&
     grep -q "the one that npm installed" doctor.txt && grep -q "^healthy" doctor.txt`,
  ],
  ...programs.map(([title, command]) => [title, `cd /srv/app && ${command}`]),
  ['another user', `cd /srv/app && setpriv --reuid=65534 --regid=65534 --clear-groups ${core}`],
  [
    'a read-only system',
    `mount -o remount,bind,ro / && mount -t tmpfs tmpfs /tmp && cd /srv/app && ! touch x 2>/dev/null && ${core}`,
  ],
  [
    'LIBTORCH names the package',
    `cd /srv/app && LIBTORCH=node_modules/@libtorch-node/libtorch-linux-${process.arch} node esm.mjs`,
  ],
  ['Jest', `cd /srv/app && npm install ${flags} ${tool('jest')} >/dev/null && node node_modules/jest/bin/jest.js`],
  [
    'a bundle by esbuild',
    `cd /srv/app && npm install ${flags} --include=optional ${tool('esbuild')} >/dev/null &&
     node_modules/.bin/esbuild core.js --bundle --platform=node --external:libtorch-node --outfile=bundle/core.js &&
     node --expose-gc bundle/core.js`,
  ],
  [
    // Without apt-get on the PATH, so that the remedy is npm's package, as on a system without apt.
    'doctor --fix --yes installs the missing libtorch',
    `${project('fix')} && npm install ${flags} libtorch-node >/dev/null && mkdir -p /srv/bin &&
     for name in node npm sh env; do ln -sf "$(command -v $name)" /srv/bin/$name; done && export PATH=/srv/bin &&
     ! ${doctor} >/dev/null && ${doctor} --fix --yes && ${core}`,
  ],
  [
    'pnpm',
    `${project('pnpm')} && npm exec --yes --package=pnpm@${PNPM} -- pnpm add --ignore-scripts ${both} && ${core}`,
  ],
  [
    'yarn',
    `${project('yarn')} && npm exec --yes --package=yarn@${YARN} -- yarn add --ignore-scripts ${both} && ${core}`,
  ],
];

async function test(release, registry, { fresh, only }) {
  const root = await ensureBareRoot(release, { fresh });
  for (const dir of ['srv/programs', 'usr/local/bin']) mkdirSync(path.join(root, dir), { recursive: true });
  cpSync(await npmNode(NODE), path.join(root, 'usr/local/bin/node'));
  rmSync(path.join(root, 'srv/programs'), { recursive: true });
  cpSync(inRoot('scripts', 'bare', 'app'), path.join(root, 'srv/programs'), { recursive: true });
  writeFileSync(
    path.join(root, 'srv/programs/package.json'),
    '{ "name": "app", "version": "1.0.0", "private": true }\n',
  );
  return withNpm(root, async ({ mounts, env }) => {
    const inside = { root, mounts, env: { ...env, npm_config_registry: registry } };
    const failed = [];
    const seconds = {};
    let ran = 0;
    for (const [title, command] of checks.filter(([name]) => name.includes(only))) {
      say(`\n----- ${release}: ${title}`);
      ran += 1;
      const start = performance.now();
      const status = await runInside(inside, '/bin/bash', ['-c', `set -o pipefail; ${command}`]);
      seconds[title] = Math.round((performance.now() - start) / 1000);
      if (status !== 0) failed.push(title);
      say(status === 0 ? `✓ ${title}` : `✗ ${title}: exit status ${status}`);
    }
    if (release === IMAGE_RELEASE && IMAGE.includes(only)) {
      say(`\n----- ${release}: ${IMAGE}`);
      ran += 1;
      const context = await imageContext(root, inside);
      const status = await tryImage({ base: root, folder: `${root}-image`, context, inside });
      if (status !== 0) failed.push(IMAGE);
      say(status === 0 ? `✓ ${IMAGE}` : `✗ ${IMAGE}: exit status ${status}`);
    }
    return { release, ran, failed, installed: seconds[INSTALL] };
  });
}

async function time(registry, rounds) {
  const root = await prepareRoot(TIMED_RELEASE);
  const node = await npmNode(NODE);
  const lines = await withNpm(root, ({ mounts, env }) => {
    const inside = { root, mounts, env: { ...env, npm_config_registry: registry } };
    const shell = (command) => runInside(inside, '/bin/bash', ['-c', command]);
    return timeStarts({ root, node, packages: both.split(' '), rounds, runInside: shell });
  });
  for (const line of [`Debian ${TIMED_RELEASE}, Node ${NODE}`, ...lines]) say(line);
}

await runMain(async () => {
  const words = process.argv.slice(2);
  const only = words.find((word) => word.startsWith('--only='))?.slice('--only='.length) ?? '';
  const timed = words.find((word) => /^--time(=[1-9]\d*)?$/.test(word));
  const isOption = (word) => word === '--fresh' || word === timed || word.startsWith('--only=');
  const unknown = words.filter((word) => !isOption(word) && !releases.includes(word));
  if (unknown.length > 0)
    throw new StepError(
      `unknown: ${unknown.join(' ')}\nusage: npm run test:bare [-- ${releases.join(' | ')}] [--fresh] [--only=TEXT] [--time[=STARTS]]`,
    );
  await requireMachine();
  await tarballs();
  const { stdout: upstream } = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' });
  const files = ['own.tgz', 'libtorch.tgz'].map((name) => path.join(scratch, name));
  const registry = await serveRegistry(files, upstream.trim());
  if (timed !== undefined) {
    await time(registry.url, Number(timed.split('=')[1] ?? TIMED_STARTS));
    await registry.close();
    return;
  }
  const named = releases.filter((release) => words.includes(release));
  const outcomes = [];
  for (const release of named.length > 0 ? named : releases) {
    outcomes.push(await test(release, registry.url, { fresh: words.includes('--fresh'), only }));
  }
  await registry.close();
  for (const { release, ran, failed, installed } of outcomes) {
    const late = installed > MAX_INSTALL_S ? `, expected at most ${MAX_INSTALL_S} s on a free machine` : '';
    if (installed !== undefined) say(`${release}: installed in ${installed} s${late}`);
    say(failed.length === 0 ? `✓ ${release}: ${ran} checks` : `✗ ${release}: ${failed.join(', ')}`);
  }
  if (outcomes.every(({ ran }) => ran === 0)) throw new StepError(`--only=${only}: no check has this in its title`);
  process.exitCode = outcomes.every(({ failed }) => failed.length === 0) ? 0 : 1;
});
