/**
 * Compiles both addons of the binding of a Debian release's libtorch for another processor: the generated sources are those that this
 * machine's processor has, headers and libraries are Debian's for the other one, the compiler is a cross compiler.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { c10dSources } from '../gyp-sources.mjs';
import { compileAddon } from '../installed/compile.mjs';
import { sourcesFor } from '../installed/sources.mjs';
import { findHeaders } from '../installed/toolchain.mjs';
import { c10dFlags } from '../libtorch.mjs';
import { buildDir, inRoot, libtorchModules } from '../paths.mjs';
import { StepError } from '../steps/errors.mjs';
import { jobs } from '../steps/jobs.mjs';
import { prebuildsDir } from '../steps/prebuilds.mjs';
import { say, step } from '../steps/progress.mjs';
import { relink, weakenNewer } from './elf.mjs';
import { fetchPackages } from './packages.mjs';
import { systems, targets } from './targets.mjs';

const requireLibtorch = createRequire(import.meta.url);
const { addonName, bindingInfo, bindingName, distributedName, infoName } = requireLibtorch(
  libtorchModules('bindings.js'),
);
const { cxxStandardOf, headerVersion, minorOf } = requireLibtorch(libtorchModules('identify.js'));
/** Debian's package with the library of Gloo. */
const GLOO = 'libgloo0';
const parts = JSON.parse(readFileSync(inRoot('scripts', 'libtorch-package', 'parts.json'), 'utf8'));

/**
 * The headers must be those that codegen has read: it is this machine's processor that it ran for. Config.h says which libraries
 * libtorch is built with (KleidiAI on arm64), and declares nothing.
 */
function requireSame(one, other) {
  const { stdout, status } = spawnSync('diff', ['-rq', '-x', 'Config.h', one, other], { encoding: 'utf8' });
  if (status !== 0)
    throw new StepError(`libtorch's headers depend on the processor, so codegen must run for each:\n${stdout}`);
}

/** The folders of libtorch's headers, and of those of Gloo and others. */
async function headersOf(arch, release, folder) {
  const names = ['libtorch-dev', 'libgloo-dev', ...systems[release].headers];
  const wanted = { release, architecture: targets[arch].debian, names };
  const found = await fetchPackages(path.join(folder, `headers-${arch}`), wanted);
  return wanted.names.map((name) => path.join(found.get(name).folder, 'usr/include'));
}

/** The folders with libtorch's libraries and Gloo's for the other processor: those that are packed, or the release's own. */
async function librariesOf(arch, release, folder) {
  if (release !== parts.release) {
    const wanted = { release, architecture: targets[arch].debian, names: [systems[release].libtorch, GLOO] };
    const found = await fetchPackages(path.join(folder, 'libraries'), wanted);
    const usual = wanted.names.map((name) => path.join(found.get(name).folder, 'usr/lib', targets[arch].triple));
    // Debian 12's Gloo is not in the folder of its processor.
    return usual.map((dir) => (existsSync(dir) ? dir : path.dirname(dir)));
  }
  const lib = path.join(folder, 'package', 'lib');
  if (existsSync(lib)) return [lib, lib];
  throw new StepError(`${lib} does not exist: run \`npm run package:libtorch -- --arch ${arch}\` first.`);
}

/** What findLibtorch would say of it. The linker wants names without versions, so `lib` is a folder of links. */
function describe([include, ...others], [lib, glooLib], links) {
  const version = headerVersion(include);
  rmSync(links, { recursive: true, force: true });
  mkdirSync(links);
  const gloo = readdirSync(glooLib).find((name) => /^libgloo\.so\.\d+$/.test(name));
  if (gloo === undefined) throw new StepError(`libgloo.so is not in ${glooLib}.`);
  symlinkSync(path.join(glooLib, gloo), path.join(links, 'libgloo.so'));
  const sonames = {};
  for (const name of ['c10', 'torch_cpu', 'torch']) {
    sonames[name] = `lib${name}.so.${minorOf(version)}`;
    if (!existsSync(path.join(lib, sonames[name]))) throw new StepError(`${sonames[name]} is not in ${lib}.`);
    symlinkSync(path.join(lib, sonames[name]), path.join(links, `lib${name}.so`));
  }
  return {
    ...{ version, abi: 'new', cuda: false, sonames, lib: links, include, cudaInclude: null },
    cxxStandard: cxxStandardOf(include),
    includes: [include, path.join(include, 'torch/csrc/api/include'), ...others],
  };
}

/**
 * A root for the compiler instead of this machine's: Debian's cross compilers also look in /usr/include, and a libtorch there is
 * another one, whose headers `__has_include` would find. libuv's are there where they do not come with Node.
 */
function emptyRoot(folder) {
  const include = path.join(folder, 'usr/include');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(include, { recursive: true });
  for (const name of ['uv', 'uv.h']) {
    const from = path.join('/usr/include', name);
    if (existsSync(from)) symlinkSync(from, path.join(include, name));
  }
  return folder;
}

/** Puts the addons, their JavaScript and a description into prebuilds/. @returns {string} the folder */
function place(addons, javascript, info, folder) {
  const staging = path.join(path.dirname(folder), `.${path.basename(folder)}`);
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true });
  for (const addon of addons) cpSync(addon, path.join(staging, path.basename(addon)));
  cpSync(javascript, path.join(staging, 'generated'), { recursive: true, filter: (file) => !file.endsWith('.d.ts') });
  // Names and types are those of the other processor's binding, whose sources serve both.
  for (const name of ['types', 'names.json']) {
    cpSync(path.join(path.dirname(javascript), name), path.join(staging, name), { recursive: true });
  }
  writeFileSync(path.join(staging, infoName), `${JSON.stringify(info, null, 2)}\n`);
  rmSync(folder, { recursive: true, force: true });
  renameSync(staging, folder);
  return folder;
}

/**
 * @param {string} arch
 * @param {string} [release] of Debian; the one whose libtorch is packed, unless another is named
 * @returns {Promise<string>} the folder of the binding in prebuilds/
 */
export async function crossBinding(arch, release = parts.release) {
  const target = targets[arch];
  const isPacked = release === parts.release;
  const work = path.join(buildDir, 'libtorch-package', isPacked ? arch : `${arch}-${release}`);
  mkdirSync(work, { recursive: true });
  const libtorch = await step(`libtorch of ${release} for ${arch}`, async () => {
    const lib = await librariesOf(arch, release, work);
    const other = await headersOf(process.arch, release, work);
    const own = await headersOf(arch, release, work);
    requireSame(path.join(other[0], 'ATen'), path.join(own[0], 'ATen'));
    return describe(own, lib, path.join(work, 'links'));
  });
  const scratch = path.join(work, 'binding');
  mkdirSync(scratch, { recursive: true });
  // Codegen would be linked with this libtorch, and could not run here.
  const { sources, javascript } = await sourcesFor(libtorch, null);
  const addons = [addonName, distributedName].map((name) => path.join(scratch, name));
  const onProgress = (done, all, name) => say(`… ${done} of ${all} files compiled ${name}`);
  const how = {
    ...{ headers: findHeaders(), libtorch, jobs: jobs(), onProgress },
    compiler: { command: `${target.tools}g++`, args: [`--sysroot=${emptyRoot(path.join(work, 'empty'))}`] },
  };
  await compileAddon({ ...how, sources, addon: addons[0], folder: path.join(scratch, 'objects') });
  const extra = c10dFlags(libtorch, []);
  if (extra === null)
    throw new StepError(`The headers of c10d or of Gloo are missing in ${libtorch.includes.join(', ')}.`);
  await compileAddon({
    ...{ ...how, extra, addon: addons[1], folder: path.join(scratch, 'distributed') },
    sources: c10dSources().map((name) => inRoot(name)),
  });
  for (const addon of addons) {
    relink(addon, { rpath: null });
    if (isPacked) weakenNewer(addon, parts.oldest);
  }
  const folder = path.join(prebuildsDir, `linux-${arch}`, bindingName(libtorch));
  return place(addons, javascript, { ...bindingInfo(libtorch), arch }, folder);
}
