/**
 * node scripts/complete-lock.mjs, after every `npm install` that changes package-lock.json.
 *
 * A registry that carries only some platforms makes npm leave the optional packages of the others out of the lock file,
 * and `npm ci` refuses such a file everywhere. This adds them back, with the platform that their name tells, so that the
 * lock is complete on every machine and nothing is fetched for a platform that is not one's own.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { inRoot } from './paths.mjs';

const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'];
const processors = ['arm64', 'arm', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64'];

/** @param {string} name such as @swc/core-linux-x64-gnu */
function platformOf(name) {
  const words = name.split(/[/-]/);
  const os = systems.find((system) => words.includes(system));
  const cpu = processors.find((processor) => words.includes(processor));
  if (os === undefined || cpu === undefined) throw new Error(`${name}: its name does not tell its platform.`);
  if (os !== 'linux') return { cpu: [cpu], os: [os] };
  return { cpu: [cpu], libc: [words.some((word) => word.startsWith('musl')) ? 'musl' : 'glibc'], os: [os] };
}

const file = inRoot('package-lock.json');
const lock = JSON.parse(readFileSync(file, 'utf8'));
const added = {};
for (const [place, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const places = [`${place}/node_modules/${name}`, `node_modules/${name}`];
    if (places.some((known) => known in lock.packages)) continue;
    const { cpu, ...rest } = platformOf(name);
    added[`node_modules/${name}`] = { version, cpu, ...(entry.dev ? { dev: true } : {}), optional: true, ...rest };
  }
}
const sorted = Object.entries({ ...lock.packages, ...added }).sort(([a], [b]) => a.localeCompare(b, 'en'));
lock.packages = Object.fromEntries(sorted);
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${Object.keys(added).length} packages of other platforms added to package-lock.json.`);
