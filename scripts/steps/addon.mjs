/** The addon: node-gyp with make, into build/Release/libtorch_node.node, then one trial load. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { addonFile } from '../paths.mjs';
import { libtorchIdentity } from './codegen.mjs';
import { runLogged } from './command.mjs';
import { jobs } from './jobs.mjs';
import { step } from './progress.mjs';
import { filesBelow, whenChanged } from './stamps.mjs';

/** Node's headers beside the running Node, or Debian's; without either node-gyp downloads them. */
function nodeHeaders() {
  const prefixes = [process.env.npm_config_nodedir, path.resolve(process.execPath, '..', '..'), '/usr'];
  const found = prefixes.find((prefix) => prefix && existsSync(path.join(prefix, 'include/node/node_api.h')));
  return found === undefined ? [] : [`--nodedir=${found}`];
}

export async function ensureAddon() {
  const inputs = {
    files: filesBelow(
      ['native', 'binding.gyp', 'scripts/gyp-sources.mjs', 'scripts/libtorch.mjs'],
      ['.cpp', '.h', '.txt', '.gyp', '.mjs'],
    ),
    values: { libtorch: libtorchIdentity(), node: process.version, headers: nodeHeaders() },
    outputs: [addonFile],
  };
  await whenChanged('addon', inputs, () =>
    step('addon: compiling (minutes the first time)', async () => {
      const nodeGyp = createRequire(import.meta.url).resolve('node-gyp/bin/node-gyp.js');
      const args = [nodeGyp, 'configure', 'build', '--release', '-j', String(jobs()), ...nodeHeaders()];
      await runLogged('addon', process.execPath, args);
      await runLogged('addon', process.execPath, ['-e', `require(${JSON.stringify(addonFile)})`], { append: true });
    }),
  );
}
