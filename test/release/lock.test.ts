/** package-lock.json: packages have integrity hashes, and it does not contain download locations. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { run } from '../support/child';
import { ROOT } from '../support/torch';

interface Entry {
  version: string;
  integrity?: string;
  resolved?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
}
const json = (name: string) => JSON.parse(fs.readFileSync(path.join(ROOT, name), 'utf8'));
const entries = Object.entries<Entry>(json('package-lock.json').packages).filter(([place]) => place !== '');
const exceptions: { reason: string; packages: string[] } = json('scripts/lock-exceptions.json');
const nameOf = (place: string) => place.replace(/^.*node_modules\//, '');
const label = ([place, entry]: [string, Entry]) => `${nameOf(place)}@${entry.version}`;

/** Runs lines of a module that imports from scripts/steps/npm.mjs, and returns its output. */
async function inSteps(lines: string): Promise<string> {
  const from = JSON.stringify(path.join(ROOT, 'scripts/steps/npm.mjs'));
  const program = `import { requireIntegrity } from ${from};\n${lines}`;
  const { code, stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', program]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trim();
}

it('every package has an integrity hash, except those listed with the reason', () => {
  expect(entries.length).toBeGreaterThan(500);
  const checked = entries.filter(([, { integrity }]) => integrity !== undefined);
  for (const [, { integrity }] of checked) expect(integrity).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
  const unchecked = entries.filter(([, { integrity }]) => integrity === undefined);
  expect(unchecked.map(label).sort()).toEqual(exceptions.packages);
  expect(exceptions.reason).toMatch(/does not carry/);
});

it('every entry without an integrity hash is a tool for a platform without development or releases', () => {
  const unchecked = entries.filter(([, { integrity }]) => integrity === undefined);
  for (const [place, { dev, optional, os, cpu, libc }] of unchecked) {
    expect([place, dev, optional]).toEqual([place, true, true]);
    const here = os!.includes('linux') && (cpu!.includes('x64') || cpu!.includes('arm64')) && libc!.includes('glibc');
    expect([place, here]).toEqual([place, false]);
  }
});

it('does not contain download locations or packages from outside a registry', () => {
  const text = fs.readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8');
  expect(text).not.toMatch(/"resolved"|"link"|git\+|file:/);
  expect(json('package-lock.json').lockfileVersion).toBe(3);
});

it('has the exact versions of package.json', () => {
  const manifest = json('package.json');
  const own = json('package-lock.json').packages[''];
  for (const list of ['dependencies', 'devDependencies', 'peerDependencies']) expect(own[list]).toEqual(manifest[list]);
  for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
    // An alias, "npm:typescript@7.0.2", has the version of its package.
    expect(version).toMatch(/^(npm:[@\w/-]+@)?\d+\.\d+\.\d+$/);
    expect(json('package-lock.json').packages[`node_modules/${name}`].version).toBe(
      String(version).replace(/^npm:.*@/, ''),
    );
  }
});

it('nothing is installed if the lock file has a package for this machine without an integrity hash', async () => {
  const packages = {
    '': { version: '1.0.0' },
    'node_modules/checked': { version: '1.0.0', integrity: 'sha512-x' },
    'node_modules/@a/everywhere': { version: '2.0.0' },
    'node_modules/b/node_modules/here': { version: '3.0.0', os: ['linux'], cpu: ['x64'], libc: ['glibc'] },
    'node_modules/musl': { version: '4.0.0', os: ['linux'], cpu: ['x64'], libc: ['musl'] },
    'node_modules/not-windows': { version: '5.0.0', os: ['!win32'] },
    'node_modules/windows': { version: '6.0.0', os: ['win32'] },
    'node_modules/not-here': { version: '7.0.0', os: ['!linux'] },
  };
  const machine = { os: 'linux', cpu: 'x64', libc: 'glibc' };
  const told = await inSteps(
    `try { requireIntegrity(${JSON.stringify(packages)}, ${JSON.stringify(machine)}); } catch (error) { console.log(error.message); }`,
  );
  expect(told).toMatch(
    /^package-lock\.json lacks the integrity hash of @a\/everywhere@2\.0\.0, here@3\.0\.0, not-windows@5\.0\.0, so nothing was installed\.$/m,
  );
  const file = path.join(ROOT, 'package-lock.json');
  expect(
    await inSteps(
      `import { readFileSync } from 'node:fs'; requireIntegrity(JSON.parse(readFileSync(${JSON.stringify(file)}, 'utf8')).packages); console.log('all checked');`,
    ),
  ).toBe('all checked');
});
