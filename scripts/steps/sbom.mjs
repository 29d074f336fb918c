/**
 * sbom.cdx.json, the package's bill of materials in CycloneDX format: each addon with its hash, the npm packages that it
 * depends on, and the versions of libtorch that the addons link and that the package does not contain. It is made from the
 * lock file and the files of the package, so the same checkout gives the same bytes.
 *
 * `npm sbom --omit dev` does not do this: it omits packages that the tools need too, and records time and folder.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inRoot, libtorchModules, root } from '../paths.mjs';
import { StepError } from './errors.mjs';
import { lockFile, nameOf, readLockFile } from './lock-file.mjs';
import { prebuiltFolders } from './prebuilds.mjs';
import { whenChanged } from './stamps.mjs';

export const sbomFile = inRoot('sbom.cdx.json');
const bindings = () => createRequire(import.meta.url)(libtorchModules('bindings.js'));
const elf = () => createRequire(import.meta.url)(libtorchModules('elf.js'));

const readManifest = () => JSON.parse(readFileSync(inRoot('package.json'), 'utf8'));
/** By the package URL specification, the @ of a scope is escaped and its slash is not. */
const npmPurl = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;
const byRef = (a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1);

/** Where Node finds a package that another requires: in the latter's folder, or in one above. */
function resolve(packages, from, name) {
  for (let place = from; ; place = place.slice(0, Math.max(0, place.lastIndexOf('node_modules/') - 1))) {
    const candidate = `${place}${place === '' ? '' : '/'}node_modules/${name}`;
    if (candidate in packages) return candidate;
    if (place === '')
      throw new StepError(`package-lock.json does not have ${name}, which ${from || 'the package'} needs.`);
  }
}

/** @returns {Map<string, string[]>} the place of every runtime package, and the places of its dependencies */
export function runtimePackages(packages) {
  const found = new Map();
  const visit = (place) => {
    if (found.has(place)) return;
    const names = Object.keys(packages[place].dependencies ?? {}).sort();
    const needs = names.map((name) => resolve(packages, place, name));
    found.set(place, needs);
    for (const needed of needs) visit(needed);
  };
  visit('');
  return found;
}

function npmComponent(place, { version, license, integrity }) {
  const name = nameOf(place);
  if (license === undefined || integrity === undefined)
    throw new StepError(`package-lock.json lacks the licence or the integrity hash of ${name}, a runtime dependency.`);
  const [algorithm, hash] = integrity.split('-');
  if (algorithm !== 'sha512') throw new StepError(`expected sha512 as the integrity of ${name}, got ${algorithm}`);
  return {
    type: 'library',
    'bom-ref': npmPurl(name, version),
    name,
    version,
    scope: 'required',
    hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }],
    // One name or an expression such as (MIT OR Apache-2.0).
    licenses: [/[\s()]/.test(license) ? { expression: license } : { license: { id: license } }],
    purl: npmPurl(name, version),
  };
}

/** The libtorch that an addon links: the user's own, found when the package is loaded. */
const libtorchComponent = ({ version }) => ({
  type: 'library',
  'bom-ref': `pkg:generic/libtorch@${version}`,
  name: 'libtorch',
  version,
  description: 'Linked at run time, not part of the package: the libtorch of the machine.',
  scope: 'required',
  licenses: [{ license: { id: 'BSD-3-Clause' } }],
  purl: `pkg:generic/libtorch@${version}`,
  externalReferences: [{ type: 'vcs', url: 'https://github.com/pytorch/pytorch' }],
  properties: [{ name: 'libtorch-node:shipped', value: 'false' }],
});

/** The addons of a binding: the second one is for torch.distributed, and not in every binding. */
function addonsIn(folder) {
  const { addonName, distributedName } = bindings();
  return [addonName, distributedName].map((name) => path.join(folder, name)).filter((file) => existsSync(file));
}

/** An addon in prebuilds/, and the libraries that its ELF header asks the loader for. */
function addonComponent(file, { package: version, platform, arch, libtorch }, license) {
  const place = path.relative(root, file).split(path.sep).join('/');
  const bytes = readFileSync(file);
  const component = {
    type: 'file',
    'bom-ref': place,
    name: place,
    version,
    description: `The addon for libtorch ${libtorch.version}.`,
    scope: 'required',
    hashes: [{ alg: 'SHA-256', content: createHash('sha256').update(bytes).digest('hex') }],
    licenses: [{ license: { id: license } }],
  };
  if (platform !== 'linux') return component;
  const properties = elf()
    .readElf(file, arch)
    .needed.sort()
    .map((value) => ({ name: 'libtorch-node:needs', value }));
  return { ...component, properties };
}

/** The time of the commit, or SOURCE_DATE_EPOCH; undefined outside a repository. */
export function sourceTime(env = process.env) {
  if (env.SOURCE_DATE_EPOCH !== undefined) {
    if (!/^\d{1,12}$/.test(env.SOURCE_DATE_EPOCH))
      throw new StepError(
        `SOURCE_DATE_EPOCH: expected seconds since 1970, got ${JSON.stringify(env.SOURCE_DATE_EPOCH)}`,
      );
    return Number(env.SOURCE_DATE_EPOCH);
  }
  try {
    const seconds = execFileSync('git', ['log', '-1', '--format=%ct'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return Number(seconds);
  } catch {
    return undefined; // no git, no repository, or no commit: the bill has no timestamp
  }
}

const timestamp = (seconds) => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');

/** A serial number derived from the content: equal bills have equal numbers. */
function serialNumber(bill) {
  const hash = createHash('sha256').update(JSON.stringify(bill)).digest('hex');
  const variant = ((Number.parseInt(hash[16], 16) & 3) | 8).toString(16);
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, variant + hash.slice(17, 20)];
  return `urn:uuid:${parts.join('-')}-${hash.slice(20, 32)}`;
}

/**
 * @param {string[]} folders of prebuilds/ that the package brings
 * @param {{ env?: NodeJS.ProcessEnv }} [options]
 */
export function billOfMaterials(folders, { env = process.env } = {}) {
  const { name, version, license, description, repository } = readManifest();
  const { packages } = readLockFile();
  const runtime = runtimePackages(packages);
  const own = npmPurl(name, version);
  const refOf = (place) => (place === '' ? own : npmPurl(nameOf(place), packages[place].version));
  const addons = folders.flatMap((folder) => {
    const info = bindings().readInfo(folder);
    const libtorch = libtorchComponent(info.libtorch);
    return addonsIn(folder).map((file) => ({ addon: addonComponent(file, info, license), libtorch }));
  });
  const headers = refOf('node_modules/node-addon-api'); // compiled into each addon
  const unique = new Map(
    [
      ...[...runtime.keys()].filter((place) => place !== '').map((place) => npmComponent(place, packages[place])),
      ...addons.flatMap(({ addon, libtorch }) => [addon, libtorch]),
    ].map((component) => [component['bom-ref'], component]),
  );
  const components = [...unique.values()].sort(byRef);
  const edges = new Map(components.map((component) => [component['bom-ref'], []]));
  for (const [place, needs] of runtime) edges.set(refOf(place), needs.map(refOf));
  for (const { addon, libtorch } of addons) edges.set(addon['bom-ref'], [headers, libtorch['bom-ref']]);
  edges.get(own).push(...addons.map(({ addon }) => addon['bom-ref']));
  const seconds = sourceTime(env);
  const metadata = {
    ...(seconds === undefined ? {} : { timestamp: timestamp(seconds) }),
    lifecycles: [{ phase: 'build' }],
    component: {
      type: 'library',
      'bom-ref': own,
      name,
      version,
      description,
      licenses: [{ license: { id: license } }],
      purl: own,
      ...(repository === undefined ? {} : { externalReferences: [{ type: 'vcs', url: repository.url }] }),
    },
  };
  const dependencies = [...edges]
    .map(([ref, dependsOn]) => ({ ref, dependsOn: [...new Set(dependsOn)].sort() }))
    .sort((a, b) => (a.ref < b.ref ? -1 : 1));
  const bill = { version: 1, metadata, components, dependencies };
  return { bomFormat: 'CycloneDX', specVersion: '1.5', serialNumber: serialNumber(bill), ...bill };
}

/** Writes the bill of the current prebuilds/. */
export async function ensureSbom() {
  const folders = prebuiltFolders();
  const inputs = {
    files: [...[inRoot('package.json'), lockFile, fileURLToPath(import.meta.url)], ...folders.flatMap(addonsIn)],
    values: { time: sourceTime() },
    outputs: [sbomFile],
  };
  await whenChanged('sbom', inputs, async () => {
    writeFileSync(sbomFile, `${JSON.stringify(billOfMaterials(folders), null, 2)}\n`);
  });
}
