/**
 * node scripts/complete-lock.mjs, after every `npm install` that changes package-lock.json.
 *
 * With a registry that carries only some platforms, npm omits the optional packages of the others from the lock file, and
 * `npm ci` rejects such a file everywhere. This script adds them back, with the platform that their name gives. The lock
 * file is then complete on every machine, and npm fetches nothing for other platforms.
 *
 * npm installs an entry without an integrity hash unchecked, so this script asks the registry for each missing hash.
 * Packages that the registry does not carry go into scripts/lock-exceptions.json; scripts/steps/npm.mjs refuses to
 * install them.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { runMain, StepError } from './steps/errors.mjs';
import { lockExceptions, lockFile, nameOf, readLockFile, withoutIntegrity } from './steps/lock-file.mjs';

const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'];
const processors = ['arm64', 'arm', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64'];
const reason =
  'The registry that the lock file was last written with does not carry these packages. They are tools for platforms ' +
  'that this repository is not developed on, and none of them is installed or published.';

/** @param {string} name such as @swc/core-linux-x64-gnu */
function platformOf(name) {
  const words = name.split(/[/-]/);
  const os = systems.find((system) => words.includes(system));
  const cpu = processors.find((processor) => words.includes(processor));
  if (os === undefined || cpu === undefined) throw new StepError(`${name}: its name does not tell its platform.`);
  if (os !== 'linux') return { cpu: [cpu], os: [os] };
  return { cpu: [cpu], libc: [words.some((word) => word.startsWith('musl')) ? 'musl' : 'glibc'], os: [os] };
}

/** Entries for the optional packages that npm left out. */
function leftOut(packages) {
  const added = {};
  for (const [place, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const places = [`${place}/node_modules/${name}`, `node_modules/${name}`];
      if (places.some((known) => known in packages)) continue;
      const { cpu, ...rest } = platformOf(name);
      added[`node_modules/${name}`] = { version, cpu, ...(entry.dev ? { dev: true } : {}), optional: true, ...rest };
    }
  }
  return added;
}

/** @returns {string | undefined} the registry's integrity hash; undefined if it does not have this version */
function integrityOf(name, version) {
  const { stdout, stderr, error } = spawnSync('npm', ['view', `${name}@${version}`, 'dist.integrity', '--json'], {
    encoding: 'utf8',
  });
  if (error) throw new StepError(`npm could not be run: ${error.message}`);
  const answer = stdout.trim() === '' ? undefined : JSON.parse(stdout);
  if (typeof answer === 'string' && answer.startsWith('sha512-')) return answer;
  if (answer?.error?.code === 'E404') return undefined;
  throw new StepError(`expected the integrity of ${name}@${version} from the registry, got: ${stdout}${stderr}`);
}

await runMain(async () => {
  const lock = readLockFile();
  const added = leftOut(lock.packages);
  const places = Object.entries({ ...lock.packages, ...added }).sort(([a], [b]) => a.localeCompare(b, 'en'));
  let found = 0;
  lock.packages = Object.fromEntries(
    places.map(([place, entry]) => {
      if (place === '' || entry.integrity !== undefined) return [place, entry];
      const { version, ...rest } = entry;
      const integrity = integrityOf(nameOf(place), version);
      if (integrity === undefined) return [place, entry];
      found += 1;
      return [place, { version, integrity, ...rest }];
    }),
  );
  writeFileSync(lockFile, `${JSON.stringify(lock, null, 2)}\n`);
  const packages = withoutIntegrity(lock.packages);
  writeFileSync(lockExceptions, `${JSON.stringify({ reason, packages }, null, 2)}\n`);
  console.log(`${Object.keys(added).length} packages of other platforms added to package-lock.json.`);
  console.log(`${found} integrities found; ${packages.length} packages are not in this registry.`);
});
