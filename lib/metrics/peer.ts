/** Packages that a program brings itself, or does not. */
import { codedError } from '../errors';

/** A package as the program has it. Throws `ERR_TORCH_MISSING_PACKAGE` that names it. */
export function peer(fn: string, name: string): unknown {
  try {
    require.resolve(name);
  } catch {
    throw codedError(
      Error,
      'ERR_TORCH_MISSING_PACKAGE',
      `${fn}: the package '${name}' is not installed, or not where libtorch-node finds it: npm install ${name}`,
    );
  }
  return require(name) as unknown; // its own errors are its own
}
