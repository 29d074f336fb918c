/**
 * The addon's sources for binding.gyp, relative to the root, one per line: the hand-written lists (core_sources.txt needs
 * no Node headers and is linked by the native tests too; node_sources.txt does; of the two cuda_*sources.txt the one that
 * fits the libtorch at hand) and what codegen wrote.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findLibtorch } from './libtorch.mjs';
import { inRoot } from './paths.mjs';

/** With CUDA and its headers, and without. CMakeLists.txt chooses in the same way. */
const cudaLists = ['native/cuda_sources.txt', 'native/cuda_none_sources.txt'];

/** @param {string} list file with one path per line; `#` begins a comment */
export function readSourceList(list) {
  if (!existsSync(inRoot(list))) throw new Error(`${list} is missing: it lists the native sources, one path per line.`);
  return readFileSync(inRoot(list), 'utf8')
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter(Boolean);
}

export const generatedSources = () => {
  const dir = 'native/generated';
  const names = existsSync(inRoot(dir)) ? readdirSync(inRoot(dir)) : [];
  return names
    .filter((name) => name.endsWith('.cpp'))
    .sort()
    .map((name) => `${dir}/${name}`);
};

/** A source that is in neither list would be missed only by the linker, or at run time. */
function refuseUnlisted(listed) {
  const names = readdirSync(inRoot('native'), { recursive: true }).map((name) => `native/${name}`);
  const unlisted = names.filter(
    (name) => name.endsWith('.cpp') && !name.startsWith('native/generated/') && !listed.includes(name),
  );
  if (unlisted.length === 0) return;
  throw new Error(`In no native/*_sources.txt: ${unlisted.join(', ')}`);
}

/** @param {{ generated?: boolean }} [options] whether with what codegen wrote */
export function addonSources({ generated = true } = {}) {
  const always = [...readSourceList('native/core_sources.txt'), ...readSourceList('native/node_sources.txt')];
  refuseUnlisted([...always, ...cudaLists.flatMap(readSourceList)]);
  const cudaList = cudaLists[findLibtorch().cudaInclude === null ? 1 : 0];
  return [...always, ...readSourceList(cudaList), ...(generated ? generatedSources() : [])];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(addonSources().join('\n'));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
