/**
 * npm run package:libtorch [-- --arch x64 | arm64]: makes the npm package @libtorch-node/libtorch-linux-<arch> in
 * build/packages: Debian 13's libtorch with all that it needs, from Debian's packages. Prints the tarball's path, size and
 * digest; the same packages and compiler give the same bytes. docs/libtorch-package.md describes what is inside.
 */
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { absent, collectLibraries, compat } from './libtorch-package/libraries.mjs';
import { noticeOf } from './libtorch-package/notice.mjs';
import { fetchPackages } from './libtorch-package/packages.mjs';
import { writeTar } from './libtorch-package/tarball.mjs';
import { targets } from './libtorch-package/targets.mjs';
import { buildDir, inRoot } from './paths.mjs';
import { runLogged } from './steps/command.mjs';
import { runMain, StepError } from './steps/errors.mjs';
import { ensurePackages } from './steps/packages.mjs';
import { say, step } from './steps/progress.mjs';

const MAX_PACKED_BYTES = 110e6;
const read = (...names) => readFileSync(inRoot('scripts', 'libtorch-package', ...names), 'utf8');
const parts = JSON.parse(read('parts.json'));
const licences = JSON.parse(read('licences.json'));

/** @returns {string} of the words after the script's name */
function archOf(words) {
  const arch = words.length === 0 ? 'x64' : words[0] === '--arch' && words.length === 2 ? words[1] : undefined;
  if (arch !== undefined && arch in targets) return arch;
  throw new StepError(`usage: npm run package:libtorch [-- --arch ${Object.keys(targets).join(' | ')}]`);
}

/** Versions of GCC's and OpenBLAS's packages, such as 0.3.29+ds-3, begin with those of their sources. */
const upstream = (version) => /[\d.]*\d/.exec(version.replace(/^\d+:/, ''))[0];

function writeTexts(folder, arch, packages) {
  const project = JSON.parse(readFileSync(inRoot('package.json'), 'utf8'));
  const debian = Object.fromEntries(Object.keys(licences).map((name) => [name, packages.get(name).version]));
  const manifest = {
    format: 1,
    version: parts.version,
    blas: `OpenBLAS ${upstream(packages.get('libopenblas0-pthread').version)}`,
    glibc: parts.oldest.GLIBC,
    glibcxx: parts.oldest.GLIBCXX,
    debian: { release: parts.release, packages: debian },
  };
  writeFileSync(path.join(folder, 'libtorch.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const own = {
    ...JSON.parse(read('template', 'package.json')),
    name: `@libtorch-node/libtorch-linux-${arch}`,
    version: parts.version,
    ...{ repository: project.repository, homepage: project.homepage, bugs: project.bugs },
    os: ['linux'],
    cpu: [arch],
    libc: ['glibc'],
  };
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(own, null, 2)}\n`);
  const rows = Object.entries(parts.libraries).map(([library, { package: name }]) => {
    return `| \`${library}\` | ${name} ${packages.get(name).version} | ${licences[name].licence} |`;
  });
  const readme = read('template', 'README.md')
    .replaceAll('{name}', own.name)
    .replaceAll('{version}', parts.version)
    .replaceAll('{glibc}', parts.oldest.GLIBC)
    .replaceAll('{glibcxx}', parts.oldest.GLIBCXX)
    .replaceAll('{blas}', manifest.blas)
    .replace('{libraries}', [...rows, `| \`${compat}\`, \`${absent}\` | libtorch-node | MIT |`].join('\n'));
  writeFileSync(path.join(folder, 'README.md'), readme);
  writeFileSync(path.join(folder, 'NOTICE'), noticeOf(packages, licences));
  copyFileSync(inRoot('LICENSE'), path.join(folder, 'LICENSE'));
}

async function pack(folder, name) {
  const out = path.join(buildDir, 'packages');
  mkdirSync(out, { recursive: true });
  const tar = path.join(out, `${name}.tar`);
  writeTar(folder, tar);
  // npm's own compressor makes it 3 % larger.
  await runLogged('libtorch-package-compress', 'libdeflate-gzip', ['-12', '-n', '-f', tar]);
  const file = path.join(out, `${name}.tgz`);
  renameSync(`${tar}.gz`, file);
  return file;
}

await runMain(async () => {
  const arch = archOf(process.argv.slice(2));
  const target = targets[arch];
  await ensurePackages(target.tools === '' ? ['package'] : ['package', 'cross']);
  const work = path.join(buildDir, 'libtorch-package', arch);
  const folder = path.join(work, 'package');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(path.join(folder, 'lib'), { recursive: true });
  const names = [...new Set([...Object.keys(licences), 'gcc-14-base', 'base-files'])];
  const packages = await step(`Debian's packages of ${parts.release}`, () =>
    fetchPackages(work, { release: parts.release, architecture: target.debian, names }),
  );
  await step('libraries', () => collectLibraries(path.join(folder, 'lib'), parts, target, packages));
  writeTexts(folder, arch, packages);
  const name = `libtorch-node-libtorch-linux-${arch}-${parts.version}`;
  const file = await step('tarball', () => pack(folder, name));
  const bytes = readFileSync(file);
  const unpacked = readdirSync(folder, { recursive: true }).reduce((sum, entry) => {
    const stat = statSync(path.join(folder, entry));
    return stat.isFile() ? sum + stat.size : sum;
  }, 0);
  const megabytes = (count) => `${(count / 1e6).toFixed(1)} MB`;
  say(`${path.relative(inRoot('.'), file)}: ${megabytes(bytes.length)} packed, ${megabytes(unpacked)} unpacked`);
  say(`sha256 ${createHash('sha256').update(bytes).digest('hex')}`);
  if (bytes.length > MAX_PACKED_BYTES) throw new StepError(`expected at most ${megabytes(MAX_PACKED_BYTES)} packed`);
});
