/** The tarball that the tests of the package use. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { run } from '../support/child';
import { once } from '../support/once';
import { withRealLibraries } from '../support/real-libraries';
import { ordinaryEnv } from '../support/sanitized';
import { ROOT } from '../support/torch';

/** An environment as outside npm: otherwise variables of `npm test` would affect the npm of the tests. */
export function outsideNpm(): NodeJS.ProcessEnv {
  const plain = Object.entries(withRealLibraries(ordinaryEnv())).filter(
    ([name]) => !/^(npm_(?!config)|npm_config_nodedir|LIBTORCH|NODE_OPTIONS|JEST)/.test(name),
  );
  return { ...Object.fromEntries(plain), NO_COLOR: '1' };
}

/**
 * The tarball of the current build (`npm run build` makes it), which one run of Jest packs once, or the one that `LTN_TARBALL`
 * names, because a release tests the file that it publishes (.github/workflows/release.yml).
 */
export async function packed(): Promise<string> {
  const given = process.env.LTN_TARBALL;
  if (given) {
    const file = path.resolve(ROOT, given);
    fs.accessSync(file, fs.constants.R_OK);
    return file;
  }
  const folder = await once('tarball', async (at) => {
    const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', at];
    const { code, stderr } = await run('sh', ['-c', 'cd "$0" && exec npm "$@"', ROOT, ...pack], { env: outsideNpm() });
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  });
  return path.join(folder, fs.readdirSync(folder)[0]!);
}
