/**
 * node scripts/steps/pip-tree.mjs FOLDER: makes FOLDER/torch, this machine's libtorch in the layout of PyTorch's wheels, for
 * tests: headers in include, libraries in lib under names without versions, which find each other by $ORIGIN, and OpenMP's
 * library with a hash in its name. Prints the folder.
 */
import { copyFileSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { findLibtorch } from '../libtorch.mjs';
import { relink, shorten } from '../libtorch-package/elf.mjs';

const OPENMP = 'libgomp.so.1';
/** As in the wheels of PyTorch 2. */
const HASHED_OPENMP = 'libgomp-a34b3233.so.1';
const headers = ['ATen', 'c10', 'caffe2', 'torch'];

/** @param {string} folder @returns {string} the root of the tree, for LIBTORCH */
export function makePipTree(folder) {
  const { files, include, lib, sonames, version } = findLibtorch();
  const root = path.join(folder, 'torch');
  for (const name of ['lib', 'include']) mkdirSync(path.join(root, name), { recursive: true });
  for (const name of headers) symlinkSync(path.join(include, name), path.join(root, 'include', name));
  writeFileSync(path.join(root, 'version.py'), `__version__ = '${version}+cpu'\ndebug = False\n`);

  const unversioned = (soname) => soname.replace(/\.so\..*$/, '.so');
  const dependencies = 'libtorch_global_deps.so';
  const versioned = readdirSync(lib).filter((name) => name.startsWith(`${dependencies}.`));
  const all = [...Object.values(sonames), ...versioned];
  const renames = Object.fromEntries(all.map((soname) => [soname, unversioned(soname)]));
  const wanted = [...Object.values(files), ...versioned.slice(0, 1).map((name) => path.join(lib, name))];
  for (const file of wanted) {
    const copy = path.join(root, 'lib', unversioned(path.basename(file)));
    copyFileSync(realpathSync(file), copy);
    relink(copy, { replace: { [OPENMP]: HASHED_OPENMP }, rpath: '$ORIGIN' });
    shorten(copy, renames);
  }
  const openmp = [lib, '/usr/lib', '/usr/lib64'].map((dir) => path.join(dir, OPENMP));
  const found = openmp.find((file) => readdirSync(path.dirname(file)).includes(OPENMP));
  copyFileSync(realpathSync(found), path.join(root, 'lib', HASHED_OPENMP));
  return root;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  console.log(makePipTree(process.argv[2]));
}
