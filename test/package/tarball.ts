/** The tarball that the tests of the package use. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { run } from '../support/child';
import { ROOT } from '../support/torch';

/**
 * Packs the current build into this folder (`npm run build` makes it), or uses the tarball that `LTN_TARBALL` names, because
 * a release tests the file that it publishes (.github/workflows/release.yml).
 */
export async function packedInto(folder: string, env: NodeJS.ProcessEnv): Promise<string> {
  const given = process.env.LTN_TARBALL;
  if (given) {
    const file = path.resolve(ROOT, given);
    fs.accessSync(file, fs.constants.R_OK);
    return file;
  }
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const packed = await run('sh', ['-c', 'cd "$0" && exec npm "$@"', ROOT, ...pack], { env });
  expect({ code: packed.code, stderr: packed.code === 0 ? '' : packed.stderr }).toEqual({ code: 0, stderr: '' });
  return path.join(folder, JSON.parse(packed.stdout)[0].filename);
}
