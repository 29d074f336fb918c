/** Paths in the checkout. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

/** @param {...string} parts path below the root of the checkout */
export const inRoot = (...parts) => path.join(root, ...parts);

export const buildDir = inRoot('build');
export const logDir = inRoot('build', 'logs');
export const stampDir = inRoot('build', '.stamps');
export const cmakeDir = inRoot('build', 'cmake');
export const declarationsFile = inRoot('build', 'Declarations.yaml');
export const addonFile = inRoot('build', 'Release', 'libtorch_node.node');
/** The second addon, with c10d and Gloo. */
export const distributedFile = inRoot('build', 'Release', 'libtorch_node_distributed.node');

/** The modules that find libtorch: beside the TypeScript in a checkout, beside the compiled JavaScript in a package. */
export const libtorchModules = (name) =>
  [inRoot('lib', 'libtorch', name), inRoot('dist', 'lib', 'libtorch', name)].find((file) => existsSync(file));
