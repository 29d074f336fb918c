'use strict';
/**
 * The names of libtorch's files on each platform, as in PyTorch's wheels (torch/include, torch/lib) and in the archives of
 * libtorch. Below the root's folder lib: libtorch_cpu.so on Linux, libtorch_cpu.dylib on macOS. On Windows torch_cpu.dll, with
 * the import library torch_cpu.lib beside it, which the linker reads.
 */
const layouts = {
  linux: { prefix: 'lib', suffix: '.so', linked: '.so' },
  darwin: { prefix: 'lib', suffix: '.dylib', linked: '.dylib' },
  win32: { prefix: '', suffix: '.dll', linked: '.lib' },
};

/** Folders that compiler and loader search by default, or where a package manager puts libtorch. */
function systemFolders({ platform, arch }) {
  const multiarch = arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  if (platform === 'win32') return { multiarch, includes: [], libs: [] };
  const includes = ['/usr/include', '/usr/local/include'];
  // Homebrew links the headers and libraries of its pytorch there.
  if (platform === 'darwin') {
    return {
      multiarch,
      includes: ['/opt/homebrew/include', '/usr/local/include'],
      libs: ['/opt/homebrew/lib', '/usr/local/lib'],
    };
  }
  return { multiarch, includes, libs: [`/usr/lib/${multiarch}`, '/usr/lib', '/usr/lib64', '/usr/local/lib'] };
}

/** @param {NodeJS.Platform} [platform] others are treated as Linux */
const layoutOf = (platform = process.platform) => layouts[platform] ?? layouts.linux;

module.exports = { layoutOf, systemFolders };
