/** Lint and format: Biome over TypeScript, JavaScript and JSON, clang-format over the hand-written C++. */
import { inRoot } from '../paths.mjs';
import { runShown } from './command.mjs';
import { filesBelow } from './stamps.mjs';

const biome = inRoot('node_modules', '@biomejs', 'biome', 'bin', 'biome');

const handwrittenCpp = () =>
  filesBelow(['native', 'codegen', 'test', 'bench', 'scripts'], ['.cpp', '.h']).filter(
    (file) => !/[\\/](generated|fixtures)[\\/]/.test(file),
  );

/** @param {boolean} [write] fix what can be fixed instead of reporting it */
export async function lintScripts(write = false) {
  const mode = write ? ['--write'] : ['--error-on-warnings'];
  return (await runShown(process.execPath, [biome, 'check', ...mode, '.'])) === 0;
}

/** @param {boolean} [write] */
export async function lintCpp(write = false) {
  const files = handwrittenCpp();
  if (files.length === 0) return true;
  return (await runShown('clang-format', [...(write ? ['-i'] : ['--dry-run', '-Werror']), ...files])) === 0;
}
