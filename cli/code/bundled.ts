/** Files of modules that a bundler names in its source maps by URLs of its own, such as `webpack://app/./src/cache.ts?1a2b`. */
import * as fs from 'node:fs';
import * as path from 'node:path';

const MODULE = /^webpack:\/\/[^/]*\/([^?]+)/;
/** The folder of a package that is installed. */
const PACKAGE = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/;

export const isModule = (name: string): boolean => name.startsWith('webpack://');

/**
 * The file of such a module, if there is one: its path begins at the project's folder, which is `folder` or a folder above it, up to
 * the first that has a package.json. Otherwise the name; but in an installed package, which rarely contains its sources, the path
 * that the file would have there, so that it is known as a library's.
 */
export function moduleFile(name: string, folder: string): string {
  const [, relative] = MODULE.exec(name) ?? [];
  if (relative === undefined) return name;
  for (let at = folder; ; at = path.dirname(at)) {
    const file = path.join(at, decoded(relative));
    if (isFile(file)) return file;
    if (at === path.dirname(at) || isFile(path.join(at, 'package.json'))) break;
  }
  const installed = PACKAGE.exec(folder)?.[0];
  if (installed === undefined) return name;
  const file = path.join(installed, decoded(relative));
  return file.startsWith(installed + path.sep) ? file : name;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a '%' that does not begin an escape
  }
}

function isFile(file: string): boolean {
  try {
    return fs.statSync(file).isFile();
  } catch {
    return false; // missing, or in a folder that cannot be read
  }
}
