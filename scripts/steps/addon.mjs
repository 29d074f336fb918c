/** Builds build/Release/libtorch_node.node with node-gyp and make, then loads it once as a check. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { c10dFlags, findLibtorch } from '../libtorch.mjs';
import { addonFile, distributedFile, libtorchModules } from '../paths.mjs';
import { libtorchIdentity } from './codegen.mjs';
import { runLogged } from './command.mjs';
import { StepError } from './errors.mjs';
import { jobs } from './jobs.mjs';
import { step } from './progress.mjs';
import { filesBelow, whenChanged } from './stamps.mjs';

/** The prefix of Node's headers: beside the running Node, or Debian's. @returns {string | undefined} */
export function nodePrefix() {
  const prefixes = [process.env.npm_config_nodedir, path.resolve(process.execPath, '..', '..'), '/usr'];
  return prefixes.find((prefix) => prefix && existsSync(path.join(prefix, 'include/node/node_api.h')));
}

/** node-gyp downloads the headers if none are found. */
function nodeHeaders() {
  const found = nodePrefix();
  return found === undefined ? [] : [`--nodedir=${found}`];
}

/** Our own node-gyp in a checkout; the one inside npm where the package is installed as a dependency. */
function nodeGyp() {
  const require = createRequire(import.meta.url);
  const script = 'node-gyp/bin/node-gyp.js';
  const prefix = path.resolve(process.execPath, '..', '..');
  const npmFolders = [
    ...(process.env.npm_execpath ? [path.resolve(process.env.npm_execpath, '..', '..')] : []),
    ...[path.join(prefix, 'lib'), '/usr/share', '/usr/lib', '/usr/local/lib'].map((dir) => `${dir}/node_modules/npm`),
    '/usr/share/nodejs',
  ];
  for (const from of [undefined, ...npmFolders]) {
    try {
      return require.resolve(script, from === undefined ? undefined : { paths: [from] });
    } catch {
      // not here: try the next one
    }
  }
  throw new StepError(
    `node-gyp was found neither beside this package nor inside npm (${npmFolders.join(', ')}): npm install node-gyp@12`,
  );
}

/** Writes binding.json, which the library reads before it loads the addon. */
function writeInfo() {
  const { bindingInfo, infoName } = createRequire(import.meta.url)(libtorchModules('bindings.js'));
  const info = JSON.stringify(bindingInfo(findLibtorch()), null, 2);
  writeFileSync(path.join(path.dirname(addonFile), infoName), `${info}\n`);
}

export async function ensureAddon() {
  const libtorch = findLibtorch();
  const { cuda, cudaInclude } = libtorch;
  const c10d = c10dFlags(libtorch);
  const inputs = {
    files: filesBelow(
      [
        'native',
        'binding.gyp',
        'scripts/compile-units.mjs',
        'scripts/gyp-sources.mjs',
        'scripts/libtorch.mjs',
        'lib/libtorch',
      ],
      ['.cpp', '.h', '.txt', '.gyp', '.mjs', '.js'],
    ),
    values: {
      libtorch: libtorchIdentity(),
      cuda: [cuda, cudaInclude],
      c10d,
      node: process.version,
      headers: nodeHeaders(),
      units: process.env.LTN_UNITS !== '0',
      format: 1,
    },
    outputs: [
      addonFile,
      ...(c10d === null ? [] : [distributedFile]),
      path.join(path.dirname(addonFile), 'binding.json'),
    ],
  };
  await whenChanged('addon', inputs, () =>
    step('addon: compiling (minutes the first time)', async () => {
      rmSync(distributedFile, { force: true }); // an old one, where c10d or Gloo is missing now
      const args = [nodeGyp(), 'configure', 'build', '--release', '-j', String(jobs()), ...nodeHeaders()];
      await runLogged('addon', process.execPath, args);
      await runLogged('addon', process.execPath, ['-e', `require(${JSON.stringify(addonFile)})`], { append: true });
      writeInfo();
    }),
  );
}
