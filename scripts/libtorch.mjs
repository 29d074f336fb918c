/**
 * Compiler and linker flags for the libtorch that lib/libtorch/find.js finds. From the command line (binding.gyp,
 * CMakeLists.txt):
 *
 *   node scripts/libtorch.mjs --json | --version | --include | --lib | --cflags | --ldflags
 */
import { closeSync, existsSync, openSync, readSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inRoot, libtorchModules } from './paths.mjs';
import { printable } from './steps/printable.mjs';

const require = createRequire(import.meta.url);

/** @type {typeof import('../lib/libtorch/find')} */
export const { findLibtorch, findRuntime, isNamed, LibtorchError, systemIncludes, systemLibs } = require(
  libtorchModules('find.js'),
);
/** @type {typeof import('../lib/libtorch/elf')} */
export const { readElf } = require(libtorchModules('elf.js'));
/** @typedef {import('../lib/libtorch/find').Libtorch} Libtorch */

/** The folders of CUDA's and NCCL's headers, where there are any. */
const cudaFolders = ({ cudaInclude, ncclInclude }) => [cudaInclude, ncclInclude].filter((dir) => dir != null);

/**
 * @param {Libtorch} libtorch
 * @param {NodeJS.Platform} [platform] another one than this, for tests
 */
export function compileFlags(libtorch, platform = process.platform) {
  const all = [...libtorch.includes, ...cudaFolders(libtorch)];
  const named = [...new Set(all)].filter((dir) => !systemIncludes.includes(realpathSync(dir)));
  if (platform === 'win32') return msvcFlags(libtorch, named);
  // Node's own flags select the new ABI; the last definition counts.
  const abi = libtorch.abi === 'old' ? ['-U_GLIBCXX_USE_CXX11_ABI', '-D_GLIBCXX_USE_CXX11_ABI=0'] : [];
  return [`-std=c++${libtorch.cxxStandard}`, ...abi, ...named.flatMap((dir) => ['-isystem', dir])];
}

/**
 * MSVC's: libtorch throws exceptions and asks for types (/EHsc, /GR), looks at __cplusplus, which has the value of 1998 without
 * /Zc:__cplusplus, and has more sections than fit without /bigobj. Windows' min and max would be macros without NOMINMAX.
 */
const msvcFlags = ({ cxxStandard }, folders) => [
  ...[`/std:c++${cxxStandard}`, '/Zc:__cplusplus', '/permissive-', '/EHsc', '/GR', '/bigobj'],
  ...['/DNOMINMAX', '/D_HAS_EXCEPTIONS=1'],
  ...(folders.length > 0 ? ['/external:W0'] : []),
  ...folders.map((dir) => `/external:I${dir}`),
];

/** MSVC links import libraries by their paths; a DLL is found because lib/addon/load.ts has loaded it before. */
const msvcLibraries = ({ lib, cuda }) => {
  const file = (name) => path.join(lib, `${name}.lib`);
  // The addon references no symbol of torch_cuda, and the linker would leave it out.
  const kernels = cuda ? ['/INCLUDE:?warp_size@cuda@at@@YAHXZ', file('torch_cuda'), file('c10_cuda')] : [];
  return [...kernels, ...['torch', 'torch_cpu', 'c10'].map(file)];
};

/**
 * @param {Libtorch} libtorch
 * @param {NodeJS.Platform} [platform] another one than this, for tests
 */
export function linkFlags(libtorch, platform = process.platform) {
  if (platform === 'win32') return msvcLibraries(libtorch);
  // On macOS libtorch's libraries have the install name @rpath/lib….dylib, so the addon needs an rpath in every case.
  const isSearched = systemLibs.includes(libtorch.lib) && platform !== 'darwin';
  const own = isSearched ? [] : [`-L${libtorch.lib}`, `-Wl,-rpath,${libtorch.lib}`];
  // GNU's linker only. Symbols are resolved at load: one that this libtorch lacks is then an error, instead of a crash later.
  const now = platform === 'darwin' ? [] : ['-Wl,-z,now'];
  // The addon references no symbol of torch_cuda, but its kernels register themselves when it is loaded.
  const cuda = libtorch.cuda ? ['-Wl,--no-as-needed', '-ltorch_cuda', '-lc10_cuda', '-Wl,--as-needed'] : [];
  return [...own, ...now, ...cuda, '-ltorch', '-ltorch_cpu', '-lc10'];
}

/** Whether a file contains all texts. The names that a library exports come before its code. */
function contains(file, texts) {
  const longest = Math.max(...texts.map((text) => text.length));
  const buffer = Buffer.alloc(2 ** 24);
  const missing = new Set(texts);
  const descriptor = openSync(file, 'r');
  try {
    for (let kept = 0; missing.size > 0; ) {
      const count = readSync(descriptor, buffer, kept, buffer.length - kept, null);
      if (count === 0) return false;
      const end = kept + count;
      for (const text of missing) {
        if (buffer.subarray(0, end).includes(text)) missing.delete(text);
      }
      kept = Math.min(longest - 1, end);
      buffer.copyWithin(0, end - kept, end);
    }
    return true;
  } finally {
    closeSync(descriptor);
  }
}

/** The constructors that native/c10d/nccl.cpp calls: of the group and of its options. */
const NCCL_NAMES = ['_ZN4c10d16ProcessGroupNCCLC1E', '_ZN4c10d16ProcessGroupNCCL7OptionsC1E'];

/** What the headers of NCCL's process group include. PyTorch's wheels for CUDA 12 bring them in many folders, not all of them named. */
const NCCL_HEADERS = ['nccl.h', 'cublas_v2.h', 'cusparse.h', 'cusolverDn.h'];

/** Whether libtorch has NCCL's process group, and its headers can be compiled. */
function hasNccl({ cuda, cudaInclude, lib }, has) {
  if (!cuda || cudaInclude === null || !NCCL_HEADERS.every(has)) return false;
  if (!has('torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp')) return false;
  const kernels = path.join(lib, 'libtorch_cuda.so');
  return existsSync(kernels) && contains(kernels, NCCL_NAMES);
}

/** Whether libtorch_cpu itself contains Gloo, as in PyTorch's wheels: the system's headers are then of another Gloo. */
const containsGloo = ({ lib }) => {
  const file = path.join(lib, 'libtorch_cpu.so');
  if (!existsSync(file)) return false; // not Linux: there is no other Gloo in a usual folder
  return !readElf(file).needed.some((name) => name.startsWith('libgloo'));
};

/**
 * What compiles and links the second addon (native/c10d), or null if it would have no backend: Gloo where its headers are there,
 * beside those of libtorch or, if libtorch uses the system's Gloo, in the system's folders; NCCL where libtorch has it.
 * @param {Libtorch} libtorch
 * @param {readonly string[]} [system] other folders than those of this system, for a cross compiler
 */
export function c10dFlags(libtorch, system = systemIncludes) {
  const own = [...libtorch.includes, ...cudaFolders(libtorch)];
  const hasIn = (folders) => (name) => folders.some((dir) => existsSync(path.join(dir, name)));
  const has = hasIn([...own, ...system]);
  const isInside = containsGloo(libtorch);
  const gloo =
    has('torch/csrc/distributed/c10d/ProcessGroupGloo.hpp') && (isInside ? hasIn(own) : has)('gloo/config.h');
  const nccl = hasNccl(libtorch, has);
  if (!gloo && !nccl) return null;
  // Headers that others include: one of libtorch in Debian's package of 1.13, one of Gloo in all of Debian's.
  const missing = [
    ['libtorch', 'torch/csrc/distributed/autograd/context/context.h'],
    ['gloo', 'gloo/common/memory.h'],
  ].flatMap(([owner, header]) => (has(header) ? [] : [`-I${inRoot('native', 'c10d', 'missing', owner)}`]));
  const backends = [...(gloo ? ['-DUSE_C10D_GLOO'] : []), ...(nccl ? ['-DUSE_C10D_NCCL'] : [])];
  return { cflags: [...missing, '-DUSE_DISTRIBUTED', ...backends], ldflags: gloo && !isInside ? ['-lgloo'] : [] };
}

const forms = {
  '--json': (libtorch) => JSON.stringify({ ...libtorch, cflags: compileFlags(libtorch), ldflags: linkFlags(libtorch) }),
  '--version': (libtorch) => libtorch.version,
  '--include': (libtorch) => libtorch.include,
  '--lib': (libtorch) => libtorch.lib,
  '--cflags': (libtorch) => compileFlags(libtorch).join('\n'),
  '--ldflags': (libtorch) => linkFlags(libtorch).join('\n'),
  '--c10d': (libtorch) => (c10dFlags(libtorch) === null ? 'no' : 'yes'),
  '--c10d-cflags': (libtorch) => (c10dFlags(libtorch)?.cflags ?? []).join('\n'),
  '--c10d-ldflags': (libtorch) => (c10dFlags(libtorch)?.ldflags ?? []).join('\n'),
};

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const form = forms[process.argv[2] ?? '--json'];
  if (form === undefined) {
    console.error(`usage: node scripts/libtorch.mjs ${Object.keys(forms).join(' | ')}`);
    process.exit(2);
  }
  try {
    console.log(form(findLibtorch()));
  } catch (error) {
    if (!(error instanceof LibtorchError)) throw error;
    console.error(printable(error.message));
    process.exit(1);
  }
}
