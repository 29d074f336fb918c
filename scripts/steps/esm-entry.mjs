/**
 * dist/lib/index.mjs: every name of the CommonJS module as a named export, and the module itself as the default one.
 * The names are those of the module as it loads here, so they follow the libtorch at hand.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { inRoot } from '../paths.mjs';
import { StepError } from './errors.mjs';

export const esmEntry = inRoot('dist', 'lib', 'index.mjs');

const isIdentifier = (name) => /^[A-Za-z_$][\w$]*$/.test(name);

function exportedNames(entry) {
  const program = `process.stdout.write(JSON.stringify(Object.keys(require(${JSON.stringify(entry)}))))`;
  try {
    return JSON.parse(
      execFileSync(process.execPath, ['-e', program], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
    );
  } catch (error) {
    throw new StepError(`The built package does not load:\n${error.stderr || error.message}`);
  }
}

export async function writeEsmEntry() {
  const names = exportedNames(inRoot('dist', 'lib', 'index.js')).filter(
    (name) => name !== 'default' && isIdentifier(name),
  );
  const lines = names.map((name, i) => `const n${i} = torch.${name};`);
  const list = names.map((name, i) => `n${i} as ${name}`).join(', ');
  const text = ["import torch from './index.js';", '', 'export default torch;', ...lines, `export { ${list} };`, ''];
  writeFileSync(esmEntry, text.join('\n'));
}
