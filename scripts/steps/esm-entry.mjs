/**
 * dist/lib/index.mjs: every name of the CommonJS module as a named export, and the module itself as the default export.
 * Named exports are fixed when the file is written, but ops depend on the libtorch. So the names are those of the module
 * as it loads here and of every binding in prebuilds/; a name that the user's libtorch lacks is undefined.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { inRoot } from '../paths.mjs';
import { StepError } from './errors.mjs';

export const esmEntry = inRoot('dist', 'lib', 'index.mjs');

const isIdentifier = (name) => /^[A-Za-z_$][\w$]*$/.test(name);

/** The names that the module exports when it is loaded here. */
export function exportedNames(entry = inRoot('dist', 'lib', 'index.js')) {
  const program = `process.stdout.write(JSON.stringify(Object.keys(require(${JSON.stringify(entry)}))))`;
  try {
    return JSON.parse(
      execFileSync(process.execPath, ['-e', program], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
    );
  } catch (error) {
    throw new StepError(`The built package does not load:\n${error.stderr || error.message}`);
  }
}

/** @param {string[]} [lists] files with the names of other bindings, as JSON */
export async function writeEsmEntry(lists = []) {
  const all = [...exportedNames(), ...lists.flatMap((file) => JSON.parse(readFileSync(file, 'utf8')))];
  const names = [...new Set(all)].filter((name) => name !== 'default' && isIdentifier(name));
  const lines = names.map((name, i) => `const n${i} = torch.${name};`);
  const list = names.map((name, i) => `n${i} as ${name}`).join(', ');
  const text = ["import torch from './index.js';", '', 'export default torch;', ...lines, `export { ${list} };`, ''];
  writeFileSync(esmEntry, text.join('\n'));
}
