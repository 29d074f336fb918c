/**
 * The one place that finds libtorch.
 *
 * `LIBTORCH` names a root with include/ and lib/; `LIBTORCH_INCLUDE` and `LIBTORCH_LIB` override its two halves; with
 * none of them set the system's own folders are looked through. CUDA is used where libtorch has it; the toolkit's headers
 * are looked for in `CUDA_HOME`, `CUDA_PATH` and the usual folders. From the command line (binding.gyp, CMakeLists.txt):
 *
 *   node scripts/libtorch.mjs --json | --version | --include | --lib | --cflags | --ldflags
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const registrationHeader = 'ATen/RegistrationDeclarations.h';
const versionHeader = 'torch/csrc/api/include/torch/version.h';
const wantedHeaders = [registrationHeader, 'ATen/core/Tensor.h', versionHeader];
const libraryNames =
  process.platform === 'darwin' ? ['libtorch_cpu.dylib', 'libc10.dylib'] : ['libtorch_cpu.so', 'libc10.so'];
/** Folders that compiler and loader search anyway; naming them again breaks `#include_next` or pollutes the rpath. */
const systemIncludes = ['/usr/include', '/usr/local/include'];
const multiarch = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
const systemLibs = [`/usr/lib/${multiarch}`, '/usr/lib', '/usr/lib64', '/usr/local/lib'];

/** libtorch's own libraries and header for CUDA. A libtorch for the CPU may bring the header all the same. */
const cudaLibraries = ['libc10_cuda.so', 'libtorch_cuda.so'];
const cudaHeader = 'c10/cuda/CUDACachingAllocator.h';
const toolkitHeader = 'cuda_runtime_api.h';

const isMain = process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url);

/**
 * @typedef {object} Libtorch
 * @property {string} include folder that holds ATen/, c10/ and torch/
 * @property {string[]} includes every include folder, the C++ frontend's with it
 * @property {string} lib folder of the shared libraries
 * @property {string} version such as 1.13.0
 * @property {number} cxxStandard the C++ standard its headers ask for, at least 17
 * @property {string} registrationHeader full path of ATen/RegistrationDeclarations.h
 * @property {boolean} cuda whether its libraries have CUDA
 * @property {string | null} cudaInclude folder of the CUDA toolkit's headers, where there is CUDA and they were found
 */

/** libtorch is not there, or not usable. The message says what was looked for, where, and what to do. */
export class LibtorchError extends Error {
  code = 'ERR_LIBTORCH_MISSING';
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {{ includes: [string, string][], libs: [string, string][], named: boolean }} folders, each with its origin
 */
function candidates(env) {
  const root = env.LIBTORCH;
  const named = Boolean(root || env.LIBTORCH_INCLUDE || env.LIBTORCH_LIB);
  /** @type {[string, string][]} */
  let includes = systemIncludes.map((dir) => [dir, 'system']);
  /** @type {[string, string][]} */
  let libs = systemLibs.map((dir) => [dir, 'system']);
  if (root) {
    includes = [[path.join(root, 'include'), 'LIBTORCH']];
    libs = [
      [path.join(root, 'lib'), 'LIBTORCH'],
      [path.join(root, 'lib', multiarch), 'LIBTORCH'],
    ];
  }
  if (env.LIBTORCH_INCLUDE) includes = [[env.LIBTORCH_INCLUDE, 'LIBTORCH_INCLUDE']];
  if (env.LIBTORCH_LIB) libs = [[env.LIBTORCH_LIB, 'LIBTORCH_LIB']];
  return { includes, libs, named };
}

/** The first folder that holds every file, or undefined with one line of report per folder. */
function firstWith(folders, files, report) {
  for (const [dir, origin] of folders) {
    const missing = files.filter((file) => !existsSync(path.join(dir, file)));
    if (missing.length === 0) return path.resolve(dir);
    const state = existsSync(dir) ? `lacks ${missing.join(', ')}` : 'does not exist';
    report.push(`  ${dir} (${origin}) ${state}`);
  }
  return undefined;
}

function readVersion(include) {
  const text = readFileSync(path.join(include, versionHeader), 'utf8');
  const part = (name) => text.match(new RegExp(`#define\\s+TORCH_VERSION_${name}\\s+(\\d+)`))?.[1];
  const parts = [part('MAJOR'), part('MINOR'), part('PATCH')];
  if (parts.every((digits) => digits !== undefined)) return parts.join('.');
  throw new LibtorchError(`${path.join(include, versionHeader)} does not say which version of libtorch this is.`);
}

/** The headers name their standard themselves: "#error C++20 or later compatible compiler is required". */
function readCxxStandard(include) {
  const header = path.join(include, 'torch/csrc/api/include/torch/all.h');
  const asked = existsSync(header) ? readFileSync(header, 'utf8').match(/#error C\+\+(\d\d) or later/)?.[1] : undefined;
  return Math.max(17, asked === undefined ? 17 : Number(asked));
}

/** Folder of the toolkit's headers, or null. Without them the ops work on CUDA, but torch.cuda.memory does not. */
function findToolkit(env, include) {
  if (!existsSync(path.join(include, cudaHeader))) return null;
  const roots = [env.CUDA_HOME, env.CUDA_PATH].filter(Boolean).map((root) => path.join(root, 'include'));
  const usual = ['/usr/local/cuda/include', '/opt/cuda/include', '/usr/lib/cuda/include', include, ...systemIncludes];
  return [...roots, ...usual].find((dir) => existsSync(path.join(dir, toolkitHeader))) ?? null;
}

/**
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Libtorch}
 */
export function findLibtorch(env = process.env) {
  const { includes, libs, named } = candidates(env);
  const report = [];
  const include = firstWith(includes, wantedHeaders, report);
  const lib = firstWith(libs, libraryNames, report);
  if (include === undefined || lib === undefined) {
    const what = [include === undefined ? 'headers' : '', lib === undefined ? 'libraries' : '']
      .filter(Boolean)
      .join(' and ');
    throw new LibtorchError(
      [
        `libtorch's ${what} were not found. Looked for ${[
          ...(include === undefined ? wantedHeaders : []),
          ...(lib === undefined ? libraryNames : []),
        ].join(', ')} in:`,
        ...report,
        named
          ? 'LIBTORCH must name a folder with include/ and lib/ (LIBTORCH_INCLUDE and LIBTORCH_LIB name them one by one); unset them all to use the system libtorch.'
          : 'On Debian or Ubuntu: apt-get install libtorch-dev libopenblas0-pthread. Elsewhere: unpack libtorch and set LIBTORCH to the folder with include/ and lib/.',
      ].join('\n'),
    );
  }
  const cuda = cudaLibraries.every((file) => existsSync(path.join(lib, file)));
  return {
    include,
    includes: [include, path.join(include, 'torch/csrc/api/include')],
    lib,
    version: readVersion(include),
    cxxStandard: readCxxStandard(include),
    registrationHeader: path.join(include, registrationHeader),
    cuda,
    cudaInclude: cuda ? findToolkit(env, include) : null,
  };
}

/** @param {Libtorch} libtorch */
export function compileFlags(libtorch) {
  const all = [...libtorch.includes, ...(libtorch.cudaInclude === null ? [] : [libtorch.cudaInclude])];
  const named = [...new Set(all)].filter((dir) => !systemIncludes.includes(dir));
  return [`-std=c++${libtorch.cxxStandard}`, ...named.flatMap((dir) => ['-isystem', dir])];
}

/** @param {Libtorch} libtorch */
export function linkFlags(libtorch) {
  const own = systemLibs.includes(libtorch.lib) ? [] : [`-L${libtorch.lib}`, `-Wl,-rpath,${libtorch.lib}`];
  // No symbol of ours asks for torch_cuda, whose kernels register themselves when it is loaded.
  const cuda = libtorch.cuda ? ['-Wl,--no-as-needed', '-ltorch_cuda', '-lc10_cuda', '-Wl,--as-needed'] : [];
  return [...own, ...cuda, '-ltorch', '-ltorch_cpu', '-lc10'];
}

const forms = {
  '--json': (libtorch) => JSON.stringify({ ...libtorch, cflags: compileFlags(libtorch), ldflags: linkFlags(libtorch) }),
  '--version': (libtorch) => libtorch.version,
  '--include': (libtorch) => libtorch.include,
  '--lib': (libtorch) => libtorch.lib,
  '--cflags': (libtorch) => compileFlags(libtorch).join('\n'),
  '--ldflags': (libtorch) => linkFlags(libtorch).join('\n'),
};

if (isMain) {
  const form = forms[process.argv[2] ?? '--json'];
  if (form === undefined) {
    console.error(`usage: node scripts/libtorch.mjs ${Object.keys(forms).join(' | ')}`);
    process.exit(2);
  }
  try {
    console.log(form(findLibtorch()));
  } catch (error) {
    if (!(error instanceof LibtorchError)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}
