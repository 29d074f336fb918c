/**
 * prebuilds/<platform>/<binding>/: the package's files for each libtorch. Besides the binding itself
 * (lib/libtorch/bindings.js), the generated C++ for `libtorch-node build` on other platforms, and the names and types that
 * packing merges.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { findLibtorch } from '../libtorch.mjs';
import { weakenNewer } from '../libtorch-package/elf.mjs';
import { addonFile, distributedFile, inRoot, libtorchModules } from '../paths.mjs';
import { markChecked } from './checked-types.mjs';
import { libtorchIdentity } from './codegen.mjs';
import { runLogged } from './command.mjs';
import { esmEntry, exportedNames, writeEsmEntry } from './esm-entry.mjs';
import { filesBelow, whenChanged } from './stamps.mjs';

const minorOf = (version) => version.split('.').slice(0, 2).join('.');

export const prebuildsDir = inRoot('prebuilds');
export const namesFile = 'names.json';

const bindings = () => createRequire(import.meta.url)(libtorchModules('bindings.js'));

/** All binding folders below prebuilds/, for any platform. */
export function prebuiltFolders() {
  if (!existsSync(prebuildsDir)) return [];
  return readdirSync(prebuildsDir).flatMap((platform) =>
    readdirSync(path.join(prebuildsDir, platform))
      .filter((name) => !name.startsWith('.'))
      .map((name) => path.join(prebuildsDir, platform, name))
      .filter((dir) => existsSync(path.join(dir, bindings().infoName))),
  );
}

/** The folder of the binding that this checkout builds. */
function ownFolder() {
  const { bindingName, platform } = bindings();
  return path.join(prebuildsDir, platform, bindingName(findLibtorch()));
}

const only = (ending, except) => (file) =>
  statSync(file).isDirectory() || (file.endsWith(ending) && !(except && file.endsWith(except)));

/**
 * The npm package of libtorch serves newer symbols of the C and C++ libraries to older systems, to the binding as well:
 * scripts/libtorch-package/stubs/compat.cpp.
 */
function allowOlderSystems(addon, libtorch) {
  const { version, oldest } = JSON.parse(readFileSync(inRoot('scripts', 'libtorch-package', 'parts.json'), 'utf8'));
  if (process.platform === 'linux' && minorOf(libtorch.version) === minorOf(version)) weakenNewer(addon, oldest);
}

/** Copies the binding that this checkout has built into prebuilds/. */
async function packOwnBinding() {
  const { addonName, bindingInfo, distributedName, infoName } = bindings();
  const libtorch = findLibtorch();
  const folder = ownFolder();
  const staging = `${path.dirname(folder)}/.${path.basename(folder)}`;
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true });
  const at = (name) => path.join(staging, name);
  await runLogged('prebuild', 'strip', ['--strip-all', '-o', at(addonName), addonFile]);
  allowOlderSystems(at(addonName), libtorch);
  if (existsSync(distributedFile)) {
    const args = ['--strip-all', '-o', at(distributedName), distributedFile];
    await runLogged('prebuild', 'strip', args, { append: true });
    allowOlderSystems(at(distributedName), libtorch);
  }
  cpSync(inRoot('lib', 'generated'), at('generated'), { recursive: true, filter: only('.js') });
  cpSync(inRoot('native', 'generated'), at('sources'), { recursive: true, filter: only('.cpp') });
  cpSync(inRoot('types', 'generated'), at('types'), { recursive: true, filter: only('.d.ts') });
  writeFileSync(at(namesFile), JSON.stringify(exportedNames()));
  writeFileSync(at(infoName), `${JSON.stringify(bindingInfo(libtorch), null, 2)}\n`);
  rmSync(folder, { recursive: true, force: true });
  renameSync(staging, folder);
}

/** Removes bindings of other versions of the package, whose addons are incompatible with this lib/. */
function dropStale() {
  const { packageVersion, readInfo } = bindings();
  for (const dir of prebuiltFolders()) {
    if (readInfo(dir)?.package !== packageVersion()) rmSync(dir, { recursive: true });
  }
}

/** Where the generated declarations of each libtorch are, oldest first; without bindings, those of this checkout. */
function generatedTypes() {
  const folders = prebuiltFolders().map((dir) => [minorOf(bindings().readInfo(dir).libtorch.version), dir]);
  const sources = [...new Map(folders)].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  if (sources.length < 2) return [{ version: '', dir: inRoot('types', 'generated') }];
  return sources.map(([version, dir]) => ({ version, dir: path.join(dir, 'types') }));
}

/** Writes dist/types/generated: the declarations of all bindings, merged and in few nodes. */
async function writeTypes() {
  const { mergeDeclarations } = await import('./merge-types.mjs');
  const { compactDeclarations } = await import('./compact-types.mjs');
  const sources = generatedTypes();
  const names = new Set(sources.flatMap(({ dir }) => readdirSync(dir)));
  for (const name of names) {
    const texts = sources
      .map(({ version, dir }) => ({ version, file: path.join(dir, name) }))
      .filter(({ file }) => existsSync(file))
      .map(({ version, file }) => ({ version, text: readFileSync(file, 'utf8') }));
    writeFileSync(inRoot('dist', 'types', 'generated', name), compactDeclarations(mergeDeclarations(texts)));
  }
}

/** Writes the parts of dist/ that depend on all bindings. */
export async function describeAll() {
  await writeEsmEntry(prebuiltFolders().map((dir) => path.join(dir, namesFile)));
  await writeTypes();
  markChecked();
}

/** Puts this machine's binding into prebuilds/ and updates dist/, so that `npm pack` after a build packs that build. */
export async function ensurePrebuild() {
  const inputs = {
    files: [
      addonFile,
      ...(existsSync(distributedFile) ? [distributedFile] : []),
      inRoot('package.json'),
      ...['prebuilds', 'checked-types', 'esm-entry'].map((name) => inRoot('scripts', 'steps', `${name}.mjs`)),
      ...filesBelow(['lib/generated', 'native/generated', 'types/generated', 'dist/lib'], ['.js', '.cpp', '.d.ts']),
    ],
    values: { libtorch: libtorchIdentity(), others: prebuiltFolders().filter((dir) => dir !== ownFolder()) },
    outputs: [ownFolder(), esmEntry],
  };
  await whenChanged('prebuild', inputs, async () => {
    dropStale();
    await packOwnBinding();
    await describeAll();
  });
}
