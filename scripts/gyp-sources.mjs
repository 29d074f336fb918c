/**
 * The addon's sources, relative to the root, one per line: the hand-written lists and the output of codegen. With
 * `--units`, for binding.gyp, those that are compiled together are replaced by their units (compile-units.mjs); with `--c10d` those of the second addon. The files of core_sources.txt compile without Node's headers, and the native tests link them too; those of
 * node_sources.txt need the headers. One of the two cuda_*sources.txt applies, depending on the libtorch found.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compileUnits } from './compile-units.mjs';
import { findLibtorch } from './libtorch.mjs';
import { inRoot } from './paths.mjs';

/** With CUDA and its headers, and without. CMakeLists.txt chooses in the same way. */
const cudaLists = ['native/cuda_sources.txt', 'native/cuda_none_sources.txt'];
/** Of the second addon. */
const c10dList = 'native/c10d_sources.txt';

/** @param {string} list file with one path per line; `#` begins a comment */
export function readSourceList(list) {
  if (!existsSync(inRoot(list)))
    throw new Error(`${list} is missing: expected a list of native sources, one path per line`);
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

/** Without this check only the linker, or a failure at run time, would reveal an unlisted source. */
function refuseUnlisted(listed) {
  const names = readdirSync(inRoot('native'), { recursive: true }).map((name) => `native/${name}`);
  const unlisted = names.filter(
    (name) => name.endsWith('.cpp') && !name.startsWith('native/generated/') && !listed.includes(name),
  );
  if (unlisted.length === 0) return;
  throw new Error(`not listed in any native/*_sources.txt: ${unlisted.join(', ')}`);
}

/** @param {{ generated?: boolean }} [options] generated: whether to include the output of codegen */
export function addonSources({ generated = true } = {}) {
  const always = [...readSourceList('native/core_sources.txt'), ...readSourceList('native/node_sources.txt')];
  refuseUnlisted([...always, ...[...cudaLists, c10dList].flatMap(readSourceList)]);
  const cudaList = cudaLists[findLibtorch().cudaInclude === null ? 1 : 0];
  return [...always, ...readSourceList(cudaList), ...(generated ? generatedSources() : [])];
}

/** The sources of the second addon, which contains c10d and Gloo; the addon loads it when torch.distributed is used. */
export const c10dSources = () => readSourceList(c10dList);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const c10d = process.argv.includes('--c10d');
    const sources = c10d ? c10dSources() : addonSources();
    const units = process.argv.includes('--units')
      ? compileUnits(sources, c10d ? 'build/units/c10d' : 'build/units')
      : sources;
    console.log(units.join('\n'));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
