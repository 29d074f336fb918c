/** The folder that a package is unpacked to. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { examineFolder } from '../libtorch/trust';

/**
 * A new folder in the temporary directory (TMPDIR), for this user alone. What is unpacked there is loaded as code, so the
 * folders above it must be none in which others could put another one in its place.
 */
export function unpackingFolder(fail: (what: string) => Error): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-')); // mode 0700
  const { real, problem } = examineFolder(folder);
  if (problem === null) return real;
  fs.rmSync(folder, { recursive: true, force: true });
  throw fail(`the package cannot be unpacked in the temporary directory (TMPDIR): ${problem}`);
}
