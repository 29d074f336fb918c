/** Optional packages that the program installs itself. */
import { codedError } from './errors';

/** Loads the program's package. Throws `ERR_TORCH_MISSING_PACKAGE` if it is missing. */
export function peer(fn: string, name: string): unknown {
  demandPeer(fn, name);
  return require(name) as unknown; // its own errors pass unchanged
}

/** The same for a package that is only an ES module. */
export async function importPeer(fn: string, name: string): Promise<unknown> {
  demandPeer(fn, name);
  return import(name);
}

function demandPeer(fn: string, name: string): void {
  try {
    require.resolve(name);
  } catch {
    throw codedError(
      Error,
      'ERR_TORCH_MISSING_PACKAGE',
      `${fn}: the package '${name}' is not installed, or not where libtorch-node finds it: npm install ${name}`,
    );
  }
}
