'use strict';
/**
 * Finds libtorch, for the build scripts and for the library when it loads. Search order:
 *
 * 1. `LIBTORCH`, a root with include/ and lib/; `LIBTORCH_INCLUDE` and `LIBTORCH_LIB` override its two halves.
 * 2. `LIBTORCH_USE_PYTORCH=1`: the PyTorch of the `python3` on the PATH, ignoring relative folders of the PATH.
 * 3. The system's.
 * 4. To run on, not to build against: the npm package @libtorch-node/libtorch-<platform>-<processor>.
 *
 * A named libtorch that does not fit is an error: the search stops there. Plain JavaScript, since a fresh checkout needs it
 * before TypeScript can be compiled.
 */
const fs = require('node:fs');
const path = require('node:path');
const { LibtorchError } = require('./error.js');
const { layoutOf, systemFolders } = require('./layout.js');
const { printable } = require('./printable.js');
const { manifestOf, packagedLib, packageName, requireSystem } = require('./packaged.js');
const { cxxStandardOf, headerVersion, identify, libraryFile, libraryFiles, versionHeader } = require('./identify.js');

const registrationHeader = 'ATen/RegistrationDeclarations.h';
const wantedHeaders = [registrationHeader, 'ATen/core/Tensor.h', versionHeader];
const wantedLibraries = ['torch_cpu', 'c10'];
/** The system's folders; naming them again breaks `#include_next` or pollutes the rpath. */
const ownFolders = systemFolders(process);
const { includes: systemIncludes, libs: systemLibs } = ownFolders;

/** A libtorch for the CPU may have this header too. */
const cudaHeader = 'c10/cuda/CUDACachingAllocator.h';
const toolkitHeader = 'cuda_runtime_api.h';

const isSet = (value) => value !== undefined && value !== '' && value !== '0' && value.toLowerCase() !== 'false';

/** The PATH without relative folders: anyone may have put a python3 into the current folder. */
const absolutePath = (env) =>
  (env.PATH ?? '')
    .split(path.delimiter)
    .filter((dir) => path.isAbsolute(dir))
    .join(path.delimiter);

const isFolder = (dir) => fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true;

/**
 * Folder of the PyTorch that `python3` would import. Found without importing it, which takes seconds. Python runs isolated
 * (-I), or it would first search the current folder for modules and run them.
 */
function pytorchFolder(env) {
  const program =
    'import importlib.util, os\n' +
    "spec = importlib.util.find_spec('torch')\n" +
    "print(os.path.dirname(spec.origin) if spec and spec.origin else '')";
  const { spawnSync } = require('node:child_process'); // here, because loading it takes longer than the rest of this file
  const { status, stdout, stderr, error } = spawnSync('python3', ['-I', '-c', program], {
    encoding: 'utf8',
    env: { ...env, PATH: absolutePath(env) },
  });
  if (error !== undefined || status !== 0) {
    const why =
      error?.code === 'ENOENT' ? 'there is none on the PATH' : (error?.message ?? stderr.trim().split('\n').pop());
    throw new LibtorchError(
      `LIBTORCH_USE_PYTORCH is set, but python3 could not be asked for its PyTorch: ${printable(why)}.\n` +
        'Put the python3 that has PyTorch first on the PATH, or unset LIBTORCH_USE_PYTORCH to use the system libtorch.',
    );
  }
  const folder = stdout.trim();
  if (folder === '') {
    throw new LibtorchError(
      'LIBTORCH_USE_PYTORCH is set, but the python3 on the PATH has no PyTorch (no module torch; PYTHONPATH and the folder of ' +
        "the user's own packages are not looked at).\n" +
        'Activate the environment that has it, or name its folder with LIBTORCH, or unset LIBTORCH_USE_PYTORCH to use the system libtorch.',
    );
  }
  if (path.isAbsolute(folder) && isFolder(folder)) return folder;
  throw new LibtorchError(
    `LIBTORCH_USE_PYTORCH is set, but python3 did not answer with a folder: expected an absolute path, got ${printable(JSON.stringify(folder.slice(0, 200)))}.\n` +
      'Put the python3 that has PyTorch first on the PATH, or unset LIBTORCH_USE_PYTORCH to use the system libtorch.',
  );
}

/** Whether the environment names all of it, so that the system's is not searched. @param {NodeJS.ProcessEnv} [env] */
const isNamed = (env = process.env) =>
  Boolean(env.LIBTORCH || (env.LIBTORCH_INCLUDE && env.LIBTORCH_LIB)) ||
  (!env.LIBTORCH_INCLUDE && !env.LIBTORCH_LIB && isSet(env.LIBTORCH_USE_PYTORCH));

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {{ platform: NodeJS.Platform, arch: string }} machine
 * @returns {{ includes: [string, string][], libs: [string, string][], origin: string }} folders, each with its origin
 */
function candidates(env, machine) {
  const system = machine === process ? ownFolders : systemFolders(machine);
  let origin = 'system';
  /** @type {[string, string][]} */
  let includes = system.includes.map((dir) => [dir, origin]);
  /** @type {[string, string][]} */
  let libs = system.libs.map((dir) => [dir, origin]);
  const named = env.LIBTORCH || env.LIBTORCH_INCLUDE || env.LIBTORCH_LIB;
  const pytorch = !named && isSet(env.LIBTORCH_USE_PYTORCH);
  const root = env.LIBTORCH || (pytorch ? pytorchFolder(env) : undefined);
  if (root) {
    origin = pytorch ? 'LIBTORCH_USE_PYTORCH' : 'LIBTORCH';
    includes = [[path.join(root, 'include'), origin]];
    libs = [
      [path.join(root, 'lib'), origin],
      [path.join(root, 'lib', system.multiarch), origin],
      [path.join(root, 'lib64'), origin],
    ];
  }
  if (env.LIBTORCH_INCLUDE) includes = [[env.LIBTORCH_INCLUDE, 'LIBTORCH_INCLUDE']];
  if (env.LIBTORCH_LIB) {
    libs = [[env.LIBTORCH_LIB, 'LIBTORCH_LIB']];
    // Without a named root, the headers are most likely beside the libraries.
    if (!root && !env.LIBTORCH_INCLUDE)
      includes.unshift([path.join(env.LIBTORCH_LIB, '..', 'include'), 'LIBTORCH_LIB']);
  }
  return { includes, libs, origin: libs[0]?.[1] ?? origin };
}

/** The first complete folder; if there is none, undefined and one line in `report` per folder. */
function firstWith(folders, lacks, report) {
  for (const [dir, origin] of folders) {
    const missing = lacks(dir);
    if (missing.length === 0) return path.resolve(dir);
    const state = fs.existsSync(dir) ? `lacks ${missing.join(', ')}` : 'does not exist';
    report.push(`  ${printable(dir)} (${origin}) ${state}`);
  }
  return undefined;
}

const lackedHeaders = (dir) => wantedHeaders.filter((file) => !fs.existsSync(path.join(dir, file)));

/** The linker needs the plain name, on Windows the import library too; at run time the versioned name is enough. */
const lackedLibraries = (toBuild, platform) => (dir) => {
  const { prefix, suffix, linked } = layoutOf(platform);
  const isThere = (name, ending) =>
    ending === suffix && !(toBuild && linked === suffix)
      ? libraryFile(dir, name, platform) !== undefined
      : fs.existsSync(path.join(dir, `${prefix}${name}${ending}`));
  const endings = toBuild ? [...new Set([suffix, linked])] : [suffix];
  return wantedLibraries.flatMap((name) =>
    endings.filter((ending) => !isThere(name, ending)).map((ending) => `${prefix}${name}${ending}`),
  );
};

const advice = {
  system: `On Linux: npm install ${packageName}. On Debian or Ubuntu also: apt-get install libtorch-dev libopenblas0-pthread. Elsewhere: unpack libtorch and set LIBTORCH to the folder with include/ and lib/.`,
  LIBTORCH_USE_PYTORCH:
    'The PyTorch of python3 does not bring libtorch as a package of its own does: install the wheel with pip, or unset LIBTORCH_USE_PYTORCH.',
  npm: `${packageName} is not complete: install it again.`,
  named:
    'LIBTORCH must name a folder with include/ and lib/ (LIBTORCH_INCLUDE and LIBTORCH_LIB name them one by one); unset them all to use the system libtorch.',
};

function notFound({ include, lib, origin, toBuild, report, platform }) {
  const lacksHeaders = toBuild && include === undefined;
  const what = [lacksHeaders ? 'headers' : '', lib === undefined ? 'libraries' : ''].filter(Boolean).join(' and ');
  const wanted = [
    ...(lacksHeaders ? wantedHeaders : []),
    ...(lib === undefined ? lackedLibraries(true, platform)('') : []),
  ];
  return new LibtorchError(
    [
      `libtorch's ${what} were not found. Looked for ${wanted.join(', ')} in:`,
      ...report,
      advice[origin] ?? advice.named,
    ].join('\n'),
  );
}

/** Folders of headers that PyTorch's wheel gets from the wheels beside it (nvidia-cuda-runtime, nvidia-nccl). */
const besideWheel = (include, ...names) =>
  names.map((name) => path.join(include, '..', '..', 'nvidia', name, 'include'));

/** Folder of the toolkit's headers, or null. Without them ops work on CUDA, but torch.cuda.memory does not. */
function findToolkit(env, include) {
  if (!fs.existsSync(path.join(include, cudaHeader))) return null;
  const roots = [env.CUDA_HOME, env.CUDA_PATH].filter(Boolean).map((root) => path.join(root, 'include'));
  const usual = ['/usr/local/cuda/include', '/opt/cuda/include', '/usr/lib/cuda/include', include, ...systemIncludes];
  const wheels = besideWheel(include, 'cu13');
  return [...roots, ...usual, ...wheels].find((dir) => fs.existsSync(path.join(dir, toolkitHeader))) ?? null;
}

/** The system's libtorch or the one that npm brings, in this order; undefined if there is neither. */
function systemOrPackaged({ libs, origin }, platform, report) {
  const lacks = lackedLibraries(false, platform);
  const lib = firstWith(libs, lacks, report);
  if (lib !== undefined || origin !== 'system') return { lib, origin };
  const packaged = packagedLib();
  if (packaged !== null) return { lib: firstWith([[packaged, 'npm']], lacks, report), origin: 'npm' };
  report.push(`  ${packageName} (npm) is not installed`);
  return { lib, origin };
}

/**
 * The libtorch to run on. Headers are optional; if present, they give the exact version.
 * @param {NodeJS.ProcessEnv} [env]
 * @param {{ platform: NodeJS.Platform, arch: string }} [machine] another one than this, for tests
 */
function findRuntime(env = process.env, machine = process) {
  const { platform } = machine;
  const found = candidates(env, machine);
  const { includes } = found;
  const report = [];
  const { lib, origin } = systemOrPackaged(found, platform, report);
  if (lib === undefined) throw notFound({ lib, origin, toBuild: false, report, platform });
  const files = libraryFiles(lib, platform);
  const manifest = manifestOf(lib);
  if (manifest !== null) {
    requireSystem(manifest, lib, systemLibs);
    const { version, blas } = manifest;
    return { origin, lib, files, ...identify(files, null, false, platform), version, blas };
  }
  // System headers may belong to another libtorch than the named libraries.
  const [include] =
    includes.find(([dir, from]) => (from !== 'system' || from === origin) && headerVersion(dir) !== null) ?? [];
  return { origin, lib, files, ...identify(files, include ?? null, false, platform) };
}

/**
 * The libtorch to build against, including headers.
 * @param {NodeJS.ProcessEnv} [env]
 * @param {{ platform: NodeJS.Platform, arch: string }} [machine] another one than this, for tests
 */
function findLibtorch(env = process.env, machine = process) {
  const { platform } = machine;
  const { includes, libs, origin } = candidates(env, machine);
  const report = [];
  const include = firstWith(includes, lackedHeaders, report);
  const lib = firstWith(libs, lackedLibraries(true, platform), report);
  if (include === undefined || lib === undefined)
    throw notFound({ include, lib, origin, toBuild: true, report, platform });
  const files = libraryFiles(lib, platform);
  const identity = identify(files, include, true, platform);
  return {
    origin,
    include,
    includes: [include, path.join(include, 'torch/csrc/api/include')],
    lib,
    files,
    ...identity,
    cxxStandard: cxxStandardOf(include),
    registrationHeader: path.join(include, registrationHeader),
    cudaInclude: identity.cuda ? findToolkit(env, include) : null,
    ncclInclude: identity.cuda ? (besideWheel(include, 'nccl').find((dir) => isFolder(dir)) ?? null) : null,
  };
}

module.exports = { LibtorchError, findLibtorch, findRuntime, isNamed, systemIncludes, systemLibs };
