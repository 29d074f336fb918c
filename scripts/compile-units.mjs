/**
 * Files of the addon that are compiled together. Libtorch's headers take most of the time of most files, and a unit
 * parses and instantiates them once. The generated files are large enough to stay alone.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './paths.mjs';

/** More make units that compile faster in total and use fewer cores. */
const FILES_IN_UNIT = 16;

const isGenerated = (source) => /(^|\/)(generated|sources)\//.test(source);

/** An unchanged unit keeps its time, so that make does not compile it again. */
function writeIfChanged(file, text) {
  let old = null;
  try {
    old = readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error; // the first build writes it
  }
  if (old !== text) writeFileSync(file, text);
}

/**
 * @param {string[]} sources relative to the root, or full paths
 * @param {string} folder where the units are written
 * @returns {string[]} what to compile: units as paths below `folder`, and the generated files. With LTN_UNITS=0 the
 *   sources, each alone, which shows missing includes
 */
export function compileUnits(sources, folder) {
  if (process.env.LTN_UNITS === '0') return sources;
  const written = sources.filter((source) => !isGenerated(source)).sort();
  mkdirSync(folder, { recursive: true });
  const units = [];
  while (written.length > 0) {
    const file = path.join(folder, `unit_${units.length}.cpp`);
    // From the root, which is among the include folders: an addon must not name the folder that it was built in.
    const names = written.splice(0, FILES_IN_UNIT).map((source) => path.relative(root, path.resolve(root, source)));
    const lines = names.map((name) => `#include "${name.replaceAll(path.sep, '/')}"\n`);
    writeIfChanged(file, lines.join(''));
    units.push(file);
  }
  return [...units, ...sources.filter(isGenerated)];
}
