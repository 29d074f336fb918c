/** Writes the files of a template. */
import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (...parts) => path.join(path.dirname(fileURLToPath(import.meta.url)), '..', ...parts);
const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));
const writeJson = (file, value) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);

/** The version of this package: the projects use the libtorch-node that was released with it. */
export const { version } = readJson(at('package.json'));

/** npm installs the one for the machine's processor and leaves out the others. */
const carriers = ['@libtorch-node/libtorch-linux-x64', '@libtorch-node/libtorch-linux-arm64'];

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
  const [own, carried] = [{ 'libtorch-node': `^${version}` }, Object.fromEntries(carriers.map((name) => [name, '*']))];
  writeJson(file, {
    name,
    ...manifest,
    dependencies: { ...own, ...manifest.dependencies },
    ...(systemLibtorch ? {} : { optionalDependencies: carried }),
  });
  const readme = path.join(folder, 'README.md');
  writeFileSync(readme, readFileSync(readme, 'utf8').replaceAll('{{name}}', name));
}
