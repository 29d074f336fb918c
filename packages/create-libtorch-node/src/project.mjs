/** Writes the files of a template. */
import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (...parts) => path.join(path.dirname(fileURLToPath(import.meta.url)), '..', ...parts);
const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));
const writeJson = (file, value) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);

/** The version of this package: the projects use the libtorch-node that was released with it. */
export const { version } = readJson(at('package.json'));

/** npm installs the one for the machine's processor and leaves out the others. Their version is that of libtorch. */
const carried = {
  '@libtorch-node/libtorch-linux-x64': '2.6.0',
  '@libtorch-node/libtorch-linux-arm64': '2.6.0',
};

/** npm leaves files of this name out of packages. */
const hidden = { _gitignore: '.gitignore' };

/**
 * @param {object} project
 * @param {string} project.folder an empty one
 * @param {string} project.name for package.json
 * @param {string} project.template
 * @param {boolean} project.systemLibtorch without the packages that carry libtorch
 */
export function writeProject({ folder, name, template, systemLibtorch }) {
  for (const part of ['common', template]) cpSync(at('templates', part), folder, { recursive: true });
  for (const [from, to] of Object.entries(hidden)) renameSync(path.join(folder, from), path.join(folder, to));

  const file = path.join(folder, 'package.json');
  const manifest = readJson(file);
  writeJson(file, {
    name,
    ...manifest,
    // Exact, as all versions in the templates: what was released and tested together.
    dependencies: { 'libtorch-node': version, ...manifest.dependencies },
    ...(systemLibtorch ? {} : { optionalDependencies: carried }),
  });
  const readme = path.join(folder, 'README.md');
  writeFileSync(readme, readFileSync(readme, 'utf8').replaceAll('{{name}}', name));
}
