'use strict';
/** Identifies the libtorch in a folder from its files: version, sonames, C++ ABI, CUDA, C++ standard. Loads nothing. */
const fs = require('node:fs');
const path = require('node:path');
const { ElfError, readElf } = require('./elf.js');
const { LibtorchError } = require('./error.js');
const { layoutOf } = require('./layout.js');
const { printable } = require('./printable.js');

const versionHeader = 'torch/csrc/api/include/torch/version.h';
/** Newer versions define the numbers here; the old header only includes it. */
const newVersionHeader = 'torch/headeronly/version.h';

const compareNumbers = (a, b) => a.localeCompare(b, 'en', { numeric: true });

/**
 * The file of a library: `libc10.so` or, in an installation without development files (Debian's libtorch1.13 without
 * libtorch-dev), the newest `libc10.so.1.13`.
 */
function libraryFile(dir, name, platform = process.platform, names = () => namesIn(dir)) {
  const { prefix, suffix } = layoutOf(platform);
  const plain = `${prefix}${name}${suffix}`;
  if (fs.existsSync(path.join(dir, plain))) return path.join(dir, plain);
  const versioned = names().filter(
    (file) => file.startsWith(`${plain}.`) && /^[\d.]+$/.test(file.slice(plain.length + 1)),
  );
  const newest = versioned.sort(compareNumbers).pop();
  return newest === undefined ? undefined : path.join(dir, newest);
}

function namesIn(dir) {
  try {
    return fs.readdirSync(dir);
  } catch {
    return []; // missing or unreadable: the caller reports the missing files
  }
}

/** The libtorch libraries in a folder that the addon or a device's kernels need, in the order of loading. */
function libraryFiles(dir, platform = process.platform) {
  let listed; // a system's folder has thousands of names
  const names = () => {
    listed ??= namesIn(dir);
    return listed;
  };
  const files = {};
  for (const name of ['c10', 'torch_cpu', 'c10_cuda', 'torch_cuda', 'torch']) {
    const file = libraryFile(dir, name, platform, names);
    if (file !== undefined) files[name] = file;
  }
  return files;
}

/** Empty for a file that is missing or must not be read: headers are not needed to run. */
function readText(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** The version in the headers, such as '2.6.0', or null. */
function headerVersion(include) {
  for (const header of [versionHeader, newVersionHeader]) {
    const text = readText(path.join(include, header));
    const part = (name) => text.match(new RegExp(`#define\\s+TORCH_VERSION_${name}\\s+(\\d+)`))?.[1];
    const parts = [part('MAJOR'), part('MINOR'), part('PATCH')];
    if (parts.every((digits) => digits !== undefined)) return parts.join('.');
  }
  return null;
}

/** The version beside lib/: in PyTorch's version.py, or in build-version of the archives from pytorch.org. */
function neighbourVersion(lib) {
  const python = readText(path.join(lib, '..', 'version.py')).match(
    /^__version__\s*=\s*['"](\d+\.\d+(?:\.\d+)?)/m,
  )?.[1];
  return python ?? readText(path.join(lib, '..', 'build-version')).match(/^\d+\.\d+\.\d+/)?.[0] ?? null;
}

/** '1.13' for '1.13.0'. Binaries are compatible within a minor version. */
const minorOf = (version) => version.split('.').slice(0, 2).join('.');

/** 'libtorch_cpu.so.1.13' is '1.13'; null for an unversioned one. */
const sonameVersion = (soname) => soname?.match(/\.so\.(\d+\.\d+(?:\.\d+)?)$/)?.[1] ?? null;

/**
 * 'new' or 'old': the ABI of std::string (_GLIBCXX_USE_CXX11_ABI), from the symbol names of libc10. PyTorch's wheels before
 * 2.6 have the old one.
 */
function abiOf(elf) {
  const names = elf.strings();
  if (/\0_ZN3c10[^\0]*NSt7__cxx11/.test(names)) return 'new';
  return /\0_ZN3c10[^\0]*(RKSs|Ss)/.test(names) ? 'old' : 'new';
}

/** Reads a library; converts an ElfError to a LibtorchError. */
function asLibtorch(read) {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ElfError)) throw error;
    throw new LibtorchError(
      `libtorch cannot be used: ${error.message}.\n` +
        'Install it again, or set LIBTORCH to the root folder of one for this machine (with include/ and lib/).',
    );
  }
}

/**
 * @param {Record<string, string>} files of libraryFiles
 * @param {string | null} include folder of the headers, where they are known
 * @param {boolean} toBuild whether headers of another version are an error
 * @param {NodeJS.Platform} [platform] other than Linux: only the version is read, from the files beside the libraries
 */
function identify(files, include, toBuild, platform = process.platform) {
  const lib = path.dirname(files.torch_cpu);
  const fromHeaders = include === null ? null : headerVersion(include);
  const cuda = 'c10_cuda' in files && 'torch_cuda' in files;
  if (platform !== 'linux') {
    const version = fromHeaders ?? neighbourVersion(lib);
    return { version: version ?? unknownVersion(lib), abi: 'new', cuda, sonames: {} };
  }
  const elves = Object.fromEntries(
    Object.entries(files).map(([name, file]) => [name, asLibtorch(() => readElf(file))]),
  );
  const sonames = Object.fromEntries(
    Object.entries(elves).map(([name, { soname }]) => [name, soname ?? path.basename(files[name])]),
  );
  const own = sonameVersion(sonames.torch_cpu);
  const atOdds = own !== null && fromHeaders !== null && minorOf(own) !== minorOf(fromHeaders);
  if (atOdds && toBuild) {
    throw new LibtorchError(
      `libtorch's headers and libraries do not belong together: ${printable(include)} is version ${fromHeaders}, ` +
        `${printable(files.torch_cpu)} is ${own}.\nSet LIBTORCH to one root that has both, or LIBTORCH_INCLUDE and LIBTORCH_LIB to halves of one.`,
    );
  }
  // At run time, headers only add the patch number to the library's own version.
  const version = (atOdds ? own : fromHeaders) ?? own ?? neighbourVersion(lib) ?? unknownVersion(lib);
  return { version, abi: asLibtorch(() => abiOf(elves.c10)), cuda, sonames };
}

function unknownVersion(lib) {
  throw new LibtorchError(
    `Cannot determine the version of libtorch in ${printable(lib)}: its libraries are not versioned, and beside it are neither ` +
      'headers (../include) nor version.py nor build-version.\n' +
      'Set LIBTORCH to the root folder of libtorch (with include/ and lib/), or LIBTORCH_INCLUDE to its headers.',
  );
}

/** The headers state their standard: "#error C++20 or later compatible compiler is required". */
function cxxStandardOf(include) {
  const asked = readText(path.join(include, 'torch/csrc/api/include/torch/all.h')).match(
    /#error C\+\+(\d\d) or later/,
  )?.[1];
  return Math.max(17, asked === undefined ? 17 : Number(asked));
}

module.exports = { cxxStandardOf, headerVersion, identify, libraryFile, libraryFiles, minorOf, versionHeader };
