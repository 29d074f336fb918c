/** The libraries of the package: taken from Debian's, linked to each other by $ORIGIN, and checked. */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readdirSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from '../paths.mjs';
import { runLogged } from '../steps/command.mjs';
import { StepError } from '../steps/errors.mjs';
import { isNewer, readNeededVersions, relink, weakenNewer } from './elf.mjs';

export const compat = 'liblibtorch_node_compat.so';
export const absent = 'liblibtorch_node_absent.so';

function output(command, args) {
  const { stdout, status, error } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 29 });
  if (error?.code === 'ENOENT') throw new StepError(`${command} was not found on the PATH.`);
  if (status !== 0) throw new StepError(`${command} ${args.join(' ')} failed.`);
  return stdout;
}

/** The place of a library in an unpacked package. OpenBLAS has a folder of its own there. */
function placeOf(folder, { triple }, name) {
  const dirs = [`usr/lib/${triple}`, `usr/lib/${triple}/openblas-pthread`, 'usr/lib'].map((dir) =>
    path.join(folder, dir),
  );
  const found = dirs.map((dir) => path.join(dir, name)).find((file) => existsSync(file));
  if (found === undefined) throw new StepError(`${name} is not in ${folder}.`);
  return realpathSync(found);
}

async function compileStubs(lib, { tools }) {
  const source = (name) => inRoot('scripts', 'libtorch-package', 'stubs', name);
  const flags = ['-shared', '-fPIC', '-O2', '-fvisibility=hidden', '-s', '-Wl,--build-id=none', '-Wl,-z,now'];
  // The folder of the sources must not be in the file.
  const same = [`-ffile-prefix-map=${inRoot('.')}=.`];
  const compile = (name, more) =>
    runLogged('libtorch-package-compile', `${tools}g++`, [
      ...[...flags, ...same, `-Wl,-soname,${name}`, '-o', path.join(lib, name)],
      ...more,
    ]);
  await compile(compat, [source('compat.cpp'), '-lm']);
  await compile(absent, [`-Wl,--version-script=${source('absent.map')}`, source('absent.cpp')]);
}

/** The names that a library needs, or exports and refers to with their versions. */
const neededBy = (file, { tools }) =>
  [...output(`${tools}readelf`, ['-dW', file]).matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(([, name]) => name);
const symbolsOf = (file, { tools }) =>
  output(`${tools}nm`, ['-D', '--with-symbol-versions', file])
    .split('\n')
    .map((line) => /^(?:[0-9a-f]+)?\s+(\w) ([^@\s]+)(?:@+(\S+))?$/.exec(line))
    .filter(Boolean)
    .map(([, kind, name, version]) => ({ kind, name, version }));

function changeNeeds(file, parts) {
  const newer = weakenNewer(file, parts.oldest);
  const add = newer.length > 0 ? [compat] : [];
  // In the file's own folder, and before the folders of LD_LIBRARY_PATH, which may have others of the same name.
  relink(file, { replace: parts.replaced, remove: Object.keys(parts.unused), add, rpath: '$ORIGIN' });
}

/** Everything that the loader will look for is in the folder, or in the oldest system. */
export function checkLibraries(lib, parts, target) {
  const files = readdirSync(lib);
  const symbols = new Map(files.map((name) => [name, symbolsOf(path.join(lib, name), target)]));
  const defined = new Set();
  for (const { kind, name, version } of [...symbols.values()].flat()) {
    if (!/[Uwv]/.test(kind)) defined.add(version === undefined ? name : `${name}@${version}`).add(name);
  }
  const system = new Set([...parts.fromTheSystem, target.loader]);
  const problems = [];
  for (const name of files) {
    const file = path.join(lib, name);
    for (const needed of neededBy(file, target)) {
      if (!files.includes(needed) && !system.has(needed)) problems.push(`${name} needs ${needed}`);
    }
    for (const { version, weak, file: from } of readNeededVersions(file)) {
      if (isNewer(version, parts.oldest) && !weak) problems.push(`${name} needs ${version}`);
      if (!files.includes(from) && !system.has(from)) problems.push(`${name} needs ${version} of ${from}`);
    }
    for (const { kind, name: symbol, version } of symbols.get(name)) {
      const ofSystem = version !== undefined && /^(GLIBC|GLIBCXX|CXXABI|GCC)_/.test(version);
      const wanted = version === undefined || ofSystem ? symbol : `${symbol}@${version}`;
      if (kind !== 'U' || defined.has(wanted)) continue;
      if (!ofSystem || isNewer(version, parts.oldest)) problems.push(`${name}: nothing defines ${symbol}@${version}`);
    }
  }
  if (problems.length > 0) throw new StepError(`The libraries are not complete:\n  ${problems.join('\n  ')}`);
}

/** @returns {Promise<void>} `lib` then holds all libraries */
export async function collectLibraries(lib, parts, target, packages) {
  await compileStubs(lib, target);
  for (const [name, { package: from }] of Object.entries(parts.libraries)) {
    const file = path.join(lib, name);
    copyFileSync(placeOf(packages.get(from).folder, target, name), file);
    chmodSync(file, 0o644);
    changeNeeds(file, parts);
  }
  checkLibraries(lib, parts, target);
}
