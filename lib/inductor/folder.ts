/** The folder to which a package is unpacked. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { examineFolder } from '../libtorch/trust';

/**
 * A new folder in the temporary directory (TMPDIR), private to this user. Its contents are loaded as code, so other users
 * must not be able to replace it or any folder above it.
 */
export function unpackingFolder(fail: (what: string) => Error): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-')); // mode 0700
  const { real, problem } = examineFolder(folder);
  if (problem === null) return real;
  fs.rmSync(folder, { recursive: true, force: true });
  throw fail(`the package cannot be unpacked in the temporary directory (TMPDIR): ${problem}`);
}
