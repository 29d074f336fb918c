/** Folders that resemble a libtorch: links to the real one, damaged copies, or made of a few lines of C++. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { folder } from './folder';

const { findLibtorch } = require('../../lib/libtorch/find') as typeof import('../../lib/libtorch/find');

/** The libtorch that this checkout is built for. */
export const own = findLibtorch();
export const minor = own.version.split('.').slice(0, 2).join('.');

/** A root with links to the libraries and headers of the real one. `change` gets the name and the folder of each library. */
export function likeOwn(change: (lib: string, file: (name: string) => string) => void = () => {}): string {
  const root = folder();
  const lib = path.join(root, 'lib');
  fs.mkdirSync(lib);
  for (const file of Object.values(own.files))
    fs.symlinkSync(fs.realpathSync(file), path.join(lib, path.basename(file)));
  fs.symlinkSync(own.include, path.join(root, 'include'));
  change(lib, (name) => path.join(lib, path.basename(own.files[name]!)));
  return root;
}

/** Replaces a link to a library by its first bytes. */
export function cutOff(file: string, bytes: number): void {
  const fd = fs.openSync(file, 'r');
  const start = Buffer.alloc(bytes);
  fs.readSync(fd, start);
  fs.closeSync(fd);
  fs.unlinkSync(file);
  fs.writeFileSync(file, start);
}

/** Replaces a link by a copy in which one byte is another. */
export function setByte(file: string, offset: number, value: number): void {
  const bytes = fs.readFileSync(file);
  bytes[offset] = value;
  fs.unlinkSync(file);
  fs.writeFileSync(file, bytes);
}

/** Two functions of libtorch that take a string; the second is what TORCH_CHECK calls. */
const C10 = `#include <cstdint>
#include <stdexcept>
#include <string>
namespace c10 {
void warn(const std::string& text);
void warn(const std::string&) {}
namespace detail {
[[noreturn]] void torchCheckFail(const char*, const char*, uint32_t, const std::string& text);
void torchCheckFail(const char*, const char*, uint32_t, const std::string& text) { throw std::runtime_error(text); }
}
}
`;

interface Made {
  version: string;
  abi?: 'new' | 'old';
  cuda?: boolean;
  /** Debian's names end in the version, PyTorch's do not. */
  versioned?: boolean;
}

/** A fake libtorch in the layout of PyTorch's wheels: only names and symbols are right. */
export function made({ version, abi = 'new', cuda = false, versioned = false }: Made): string {
  const root = folder();
  const lib = path.join(root, 'lib');
  fs.mkdirSync(lib);
  fs.writeFileSync(path.join(root, 'version.py'), `__version__ = '${version}+cpu'\ndebug = False\n`);
  const source = path.join(root, 'c10.cpp');
  fs.writeFileSync(source, C10);
  for (const name of ['c10', 'torch_cpu', 'torch', ...(cuda ? ['c10_cuda', 'torch_cuda'] : [])]) {
    const soname = `lib${name}.so${versioned ? `.${version.split('.').slice(0, 2).join('.')}` : ''}`;
    const flags = ['-shared', '-fPIC', `-D_GLIBCXX_USE_CXX11_ABI=${abi === 'old' ? 0 : 1}`, `-Wl,-soname,${soname}`];
    execFileSync('g++', [...flags, source, '-o', path.join(lib, soname)], { stdio: 'pipe' });
  }
  return root;
}
