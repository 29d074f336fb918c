/** sbom.cdx.json against its tarball: it lists exactly the foreign parts of the tarball. */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { folder } from '../package/folder';
import { packed } from '../package/tarball';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { ROOT } from '../support/torch';

jest.setTimeout(limitMs(120_000));

interface Component {
  type: string;
  'bom-ref': string;
  name: string;
  version: string;
  purl?: string;
  licenses: { license?: { id: string }; expression?: string }[];
  hashes?: { alg: string; content: string }[];
  properties?: { name: string; value: string }[];
}
const unpacked = folder();
const at = (...parts: string[]) => path.join(unpacked, 'package', ...parts);
const json = (file: string) => JSON.parse(fs.readFileSync(file, 'utf8'));
let bill: {
  components: Component[];
  metadata: { component: Component; timestamp?: string };
  dependencies: { ref: string; dependsOn: string[] }[];
  [name: string]: unknown;
};
let manifest: { name: string; version: string; dependencies: Record<string, string> } & Record<string, any>;

beforeAll(async () => {
  const { code, stderr } = await run('tar', ['-xzf', await packed(), '-C', unpacked]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  bill = json(at('sbom.cdx.json'));
  manifest = json(at('package.json'));
}, 120_000);

const npm = () => bill.components.filter(({ purl }) => purl?.startsWith('pkg:npm/'));
const files = () => bill.components.filter(({ type }) => type === 'file');
const purlOf = (name: string, version: string) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** The folder of a package as Node resolves it from another's, also if its exports lack package.json. */
function installedAt(name: string, from: string): string {
  const candidate = path.join(from, 'node_modules', name);
  if (fs.existsSync(path.join(candidate, 'package.json'))) return candidate;
  if (path.dirname(from) === from) throw new Error(`${name} is not installed`);
  return installedAt(name, path.dirname(from));
}

/** The installed versions of all runtime dependencies in the checkout. */
function closure(): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (name: string, from: string) => {
    const dir = installedAt(name, from);
    const { version, dependencies = {} } = json(path.join(dir, 'package.json'));
    if (found.has(name)) return;
    found.set(name, version);
    for (const needed of Object.keys(dependencies)) visit(needed, dir);
  };
  for (const name of Object.keys(manifest.dependencies)) visit(name, ROOT);
  return found;
}

/** Runs lines of a module with the exports of scripts/steps/sbom.mjs. */
async function inSbom(lines: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const from = JSON.stringify(path.join(ROOT, 'scripts/steps/sbom.mjs'));
  const program = `import { billOfMaterials, runtimePackages, sourceTime } from ${from};\n${lines}`;
  const outcome = await run(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...ordinaryEnv(), ...env },
  });
  expect({ code: outcome.code, stderr: outcome.stderr }).toEqual({ code: 0, stderr: '' });
  return outcome.stdout.trim();
}

it('is CycloneDX, of this package', () => {
  expect(bill).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1 });
  expect(bill.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const { name, version, repository } = manifest;
  expect(bill.metadata.component).toMatchObject({ name, version, purl: purlOf(name, version) });
  const places = repository === undefined ? undefined : [{ type: 'vcs', url: repository.url }];
  expect((bill.metadata.component as { externalReferences?: object[] }).externalReferences).toEqual(places);
});

it('names each runtime dependency with version, licence, purl and hash, but not tools', () => {
  const wanted = closure();
  expect(Object.fromEntries(npm().map(({ name, version }) => [name, version]))).toEqual(Object.fromEntries(wanted));
  const { packages } = json(path.join(ROOT, 'package-lock.json'));
  for (const { name, version, purl, licenses, hashes } of npm()) {
    const { license, integrity, dev } = packages[`node_modules/${name}`];
    expect({ name, dev }).toEqual({ name, dev: undefined });
    expect(purl).toBe(purlOf(name, version));
    expect(licenses).toEqual([{ license: { id: license } }]);
    const content = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex');
    expect(hashes).toEqual([{ alg: 'SHA-512', content }]);
  }
  const tools = Object.keys(manifest.devDependencies).filter((name) => !(name in manifest.dependencies));
  expect(npm().filter(({ name }) => tools.includes(name))).toEqual([]);
});

it('names each addon in the tarball with its hash, and its libtorch as not shipped', () => {
  const names = (fs.readdirSync(at('.'), { recursive: true }) as string[]).filter((name) => /\.(node|so)\b/.test(name));
  expect(names.length).toBeGreaterThan(0);
  expect(
    files()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(names.sort());
  for (const { name, hashes, properties, 'bom-ref': ref } of files()) {
    const content = createHash('sha256')
      .update(fs.readFileSync(at(name)))
      .digest('hex');
    expect(hashes).toEqual([{ alg: 'SHA-256', content }]);
    expect(properties!.map(({ value }) => value)).toEqual(expect.arrayContaining(['libc.so.6']));
    const { libtorch } = json(at(path.dirname(name), 'binding.json'));
    const purl = `pkg:generic/libtorch@${libtorch.version}`;
    const found = bill.components.find((component) => component.purl === purl);
    expect(found).toMatchObject({ version: libtorch.version, licenses: [{ license: { id: 'BSD-3-Clause' } }] });
    expect(found!.properties).toEqual([{ name: 'libtorch-node:shipped', value: 'false' }]);
    const needs = bill.dependencies.find((entry) => entry.ref === ref)!.dependsOn;
    expect(needs).toEqual([purl, expect.stringMatching(/^pkg:npm\/node-addon-api@/)]);
  }
  expect(bill.components).toHaveLength(npm().length + files().length + new Set(libtorchs()).size);
});
const libtorchs = () =>
  files().map(({ name }) => json(at(path.dirname(name), 'binding.json')).libtorch.version as string);

it('every reference leads to a component, and every component is reachable from the package', () => {
  const edges = new Map(bill.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const reached = new Set<string>();
  const visit = (ref: string) => {
    expect(edges.has(ref)).toBe(true);
    if (reached.has(ref)) return;
    reached.add(ref);
    for (const needed of edges.get(ref)!) visit(needed);
  };
  visit(bill.metadata.component['bom-ref']);
  const own = bill.metadata.component['bom-ref'];
  expect([...reached].sort()).toEqual([own, ...bill.components.map((component) => component['bom-ref'])].sort());
  expect(edges.size).toBe(reached.size);
});

it('does not contain folders, registries or users of the machine', () => {
  const repository: string | undefined = manifest.repository?.url;
  const text = fs.readFileSync(at('sbom.cdx.json'), 'utf8').replaceAll(JSON.stringify(repository), '');
  for (const trace of [ROOT, os.homedir() + path.sep, 'registry', 'file:']) expect(text).not.toContain(trace);
  const urls = [...text.matchAll(/https?:\/\/[^"/]+/g)].map(([url]) => url);
  expect(new Set(urls)).toEqual(new Set(['https://github.com']));
});

it('is the same for the same checkout, with the time of SOURCE_DATE_EPOCH or the commit', async () => {
  const print =
    "import { prebuiltFolders } from '" +
    path.join(ROOT, 'scripts/steps/prebuilds.mjs') +
    "'; console.log(JSON.stringify(billOfMaterials(prebuiltFolders().reverse())));";
  const [one, other] = [
    await inSbom(print, { SOURCE_DATE_EPOCH: '1700000000' }),
    await inSbom(print, { SOURCE_DATE_EPOCH: '1700000000' }),
  ];
  expect(one).toBe(other);
  expect(JSON.parse(one).metadata.timestamp).toBe('2023-11-14T22:13:20Z');
  const later = JSON.parse(await inSbom(print, { SOURCE_DATE_EPOCH: '1700000001' }));
  expect(later.serialNumber).not.toBe(JSON.parse(one).serialNumber);
  const wrong = await inSbom('try { sourceTime(); } catch (error) { console.log(error.message); }', {
    SOURCE_DATE_EPOCH: 'today',
  });
  expect(wrong).toBe('SOURCE_DATE_EPOCH: expected seconds since 1970, got "today"');
});

it("finds a package like Node, in the dependent's folder before the folders above", async () => {
  const packages = {
    '': { dependencies: { '@a/b': '1' } },
    'node_modules/@a/b': { dependencies: { c: '2', d: '1' } },
    'node_modules/@a/b/node_modules/c': { dependencies: { d: '1' } },
    'node_modules/c': {},
    'node_modules/d': {},
    'node_modules/tool': {},
  };
  const print = `console.log(JSON.stringify([...runtimePackages(${JSON.stringify(packages)})]));`;
  expect(JSON.parse(await inSbom(print))).toEqual([
    ['', ['node_modules/@a/b']],
    ['node_modules/@a/b', ['node_modules/@a/b/node_modules/c', 'node_modules/d']],
    ['node_modules/@a/b/node_modules/c', ['node_modules/d']],
    ['node_modules/d', []],
  ]);
  const missing = `try { runtimePackages({ '': { dependencies: { x: '1' } } }); } catch (error) { console.log(error.message); }`;
  expect(await inSbom(missing)).toBe('package-lock.json does not have x, which the package needs.');
});
