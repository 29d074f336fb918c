/**
 * Compiles the binding of the packaged libtorch for another processor: the generated sources are those that this machine's
 * processor has, headers and libraries are Debian's for the other one, the compiler is a cross compiler.
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
import { compileAddon } from '../installed/compile.mjs';
import { sourcesFor } from '../installed/sources.mjs';
import { findHeaders } from '../installed/toolchain.mjs';
import { buildDir, inRoot, libtorchModules } from '../paths.mjs';
import { StepError } from '../steps/errors.mjs';
import { jobs } from '../steps/jobs.mjs';
import { prebuildsDir } from '../steps/prebuilds.mjs';
import { say, step } from '../steps/progress.mjs';
import { relink, weakenNewer } from './elf.mjs';
import { fetchPackages } from './packages.mjs';
import { targets } from './targets.mjs';

const { addonName, bindingInfo, bindingName, infoName } = createRequire(import.meta.url)(
  libtorchModules('bindings.js'),
);
const parts = JSON.parse(readFileSync(inRoot('scripts', 'libtorch-package', 'parts.json'), 'utf8'));

/** The headers must be those that codegen has read: it is this machine's processor that it ran for. */
function requireSame(one, other) {
  const { stdout, status } = spawnSync('diff', ['-rq', one, other], { encoding: 'utf8' });
  if (status !== 0)
    throw new StepError(`libtorch's headers depend on the processor, so codegen must run for each:\n${stdout}`);
}

const headersOf = async (arch, folder) => {
  const wanted = { release: parts.release, architecture: targets[arch].debian, names: ['libtorch-dev'] };
  const found = await fetchPackages(path.join(folder, `headers-${arch}`), wanted);
  return path.join(found.get('libtorch-dev').folder, 'usr/include');
};

/**
 * @param {string} arch
 * @returns {Promise<string>} the folder of the binding in prebuilds/
 */
export async function crossBinding(arch) {
  const target = targets[arch];
  const work = path.join(buildDir, 'libtorch-package', arch);
  const lib = path.join(work, 'package', 'lib');
  if (!existsSync(lib))
    throw new StepError(`${lib} does not exist: run \`npm run package:libtorch -- --arch ${arch}\` first.`);
  const include = await step(`libtorch's headers for ${arch}`, async () => {
    const other = await headersOf(process.arch, work);
    const own = await headersOf(arch, work);
    requireSame(path.join(other, 'ATen'), path.join(own, 'ATen'));
    return own;
  });
  // The linker wants the names without versions.
  const links = path.join(work, 'links');
  rmSync(links, { recursive: true, force: true });
  mkdirSync(links);
  const minor = parts.version.split('.').slice(0, 2).join('.');
  const sonames = {};
  for (const name of ['c10', 'torch_cpu', 'torch']) {
    sonames[name] = `lib${name}.so.${minor}`;
    symlinkSync(path.join(lib, sonames[name]), path.join(links, `lib${name}.so`));
  }
  const libtorch = {
    ...{
      version: parts.version,
      abi: 'new',
      cuda: false,
      sonames,
      lib: links,
      include,
      cxxStandard: 17,
      cudaInclude: null,
    },
    includes: [include, path.join(include, 'torch/csrc/api/include')],
  };
  const scratch = path.join(work, 'binding');
  mkdirSync(scratch, { recursive: true });
  const { sources, javascript } = await sourcesFor(libtorch, scratch);
  const addon = path.join(scratch, addonName);
  const onProgress = (done, all, name) => say(`… ${done} of ${all} files compiled ${name}`);
  await compileAddon({
    ...{ sources, headers: findHeaders(), libtorch, addon, jobs: jobs(), onProgress },
    ...{ compiler: { command: `${target.tools}g++`, args: [] }, folder: path.join(scratch, 'objects') },
  });
  relink(addon, { rpath: null });
  weakenNewer(addon, parts.oldest);
  const folder = path.join(prebuildsDir, `linux-${arch}`, bindingName(libtorch));
  const staging = path.join(path.dirname(folder), `.${path.basename(folder)}`);
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true });
  cpSync(addon, path.join(staging, addonName));
  cpSync(javascript, path.join(staging, 'generated'), { recursive: true, filter: (file) => !file.endsWith('.d.ts') });
  // The sources, names and types are those of the other processor's binding.
  const beside = path.dirname(javascript);
  for (const name of readdirSync(beside).filter((other) => ['sources', 'types', 'names.json'].includes(other))) {
    cpSync(path.join(beside, name), path.join(staging, name), { recursive: true });
  }
  writeFileSync(path.join(staging, infoName), `${JSON.stringify({ ...bindingInfo(libtorch), arch }, null, 2)}\n`);
  rmSync(folder, { recursive: true, force: true });
  renameSync(staging, folder);
  return folder;
}
