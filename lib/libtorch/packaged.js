'use strict';
/**
 * The libtorch that npm brings: @libtorch-node/libtorch-<platform>-<processor>, with lib/ and libtorch.json, which says what
 * it needs of the system. It is an optional peer of this package, so that every package manager puts it where Node finds it.
 */
const fs = require('node:fs');
const path = require('node:path');
const { ElfError, readElf } = require('./elf.js');
const { LibtorchError } = require('./error.js');
const { mappedFiles } = require('./mapped.js');
const { printable } = require('./printable.js');

const packageName = `@libtorch-node/libtorch-${process.platform}-${process.arch}`;

/** The package's folder of libraries, or null. */
function packagedLib() {
  try {
    return path.join(path.dirname(require.resolve(`${packageName}/package.json`)), 'lib');
  } catch {
    return null; // not installed
  }
}

/** libtorch.json beside lib/, or null if the libraries are not those of such a package. */
function manifestOf(lib) {
  const file = path.join(lib, '..', 'libtorch.json');
  if (!fs.existsSync(file)) return null;
  try {
    const manifest = JSON.parse(fs.readFileSync(file, 'utf8'));
    if (manifest?.format === 1) return manifest;
    throw new Error(`expected format 1, got ${manifest?.format}`);
  } catch (error) {
    throw new LibtorchError(
      `libtorch cannot be used: ${printable(file)} is damaged: ${printable(error.message)}.\n` +
        `Install ${packageName} again, of a version that belongs to this version of libtorch-node.`,
    );
  }
}

const compareNumbers = (a, b) => a.localeCompare(b, 'en', { numeric: true });

/** The newest version of symbols that a library has: '2.36' of GLIBC_2.36; null if it has none or cannot be read. */
function newest(file, prefix) {
  try {
    const found = [
      ...readElf(file)
        .strings()
        .matchAll(new RegExp(`${prefix}_(\\d+(?:\\.\\d+)+)`, 'g')),
    ];
    return (
      found
        .map(([, version]) => version)
        .sort(compareNumbers)
        .pop() ?? null
    );
  } catch (error) {
    if (error instanceof ElfError) return null;
    throw error;
  }
}

/**
 * The C and C++ libraries of this process; null if they cannot be determined. Node has usually loaded both.
 * @param {readonly string[]} systemLibs where libstdc++ is looked for if this Node brings its own
 * @returns {{ glibc: string | null, glibcxx: string | null } | null}
 */
function systemVersions(systemLibs) {
  const files = mappedFiles();
  if (files === null) return null; // the loader reports what the system lacks
  const mapped = (name) => files.find((file) => name.test(path.basename(file)));
  const libc = mapped(/^libc(?:\.so\.6|-[\d.]+\.so)$/);
  if (libc === undefined)
    return mapped(/^(?:ld-musl-|libc\.musl-)/) === undefined ? null : { glibc: null, glibcxx: null };
  const beside = systemLibs.map((dir) => path.join(dir, 'libstdc++.so.6')).find((file) => fs.existsSync(file));
  const libstdcxx = mapped(/^libstdc\+\+\.so\.6/) ?? beside;
  return {
    glibc: newest(libc, 'GLIBC'),
    glibcxx: libstdcxx === undefined ? null : newest(libstdcxx, 'GLIBCXX'),
  };
}

/** Throws if the system is older than the package needs, because the text of the loader does not say what to do. */
function requireSystem(manifest, lib, systemLibs) {
  if (process.platform !== 'linux') return;
  const got = systemVersions(systemLibs);
  if (got === null) return;
  const { glibc, glibcxx } = manifest;
  const enough = (have, wanted) => have !== null && compareNumbers(have, wanted) >= 0;
  if (enough(got.glibc, glibc) && enough(got.glibcxx, glibcxx)) return;
  const cxx = got.glibcxx === null ? 'no libstdc++' : `libstdc++ with GLIBCXX_${got.glibcxx}`;
  const system = got.glibc === null ? 'another C library (musl, as in Alpine)' : `glibc ${got.glibc} and ${cxx}`;
  throw new LibtorchError(
    `The libtorch of ${packageName} cannot be used on this system (${printable(lib)}): expected glibc ${glibc} or newer and ` +
      `libstdc++ with GLIBCXX_${glibcxx} or newer (of GCC 12), got ${system}.\n` +
      'Use a newer system (Debian 12, Ubuntu 24.04, an image such as node:22-bookworm-slim), or install a libtorch that is made ' +
      'for this one, set LIBTORCH to its folder and run `npx libtorch-node build`.',
  );
}

module.exports = { manifestOf, packagedLib, packageName, requireSystem };
