/**
 * Finds what compiling the addon needs besides libtorch, before anything is written: a C++ compiler, Node's headers,
 * node-addon-api.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { libtorchModules } from '../paths.mjs';
import { StepError } from '../steps/errors.mjs';

const { examineFolder } = createRequire(import.meta.url)(libtorchModules('trust.js'));

/** Runs a program that prints its version. @returns {string | null} the first line of output; null if it fails */
export function firstLine(command, args) {
  const { status, stdout, error } = spawnSync(command, args, { encoding: 'utf8' });
  return error !== undefined || status !== 0 ? null : stdout.split('\n')[0];
}

/** The compiler: CXX, with its arguments, else the first of g++, c++ and clang++. */
export function findCompiler(env = process.env) {
  const asked = env.CXX?.trim();
  for (const words of asked ? [asked.split(/\s+/)] : [['g++'], ['c++'], ['clang++']]) {
    const version = firstLine(words[0], [...words.slice(1), '--version']);
    if (version !== null) return { command: words[0], args: words.slice(1), version };
  }
  throw new StepError(
    `${asked ? `The compiler that CXX names, ${asked}, does not run` : 'No C++ compiler was found (g++, c++, clang++)'}.\n` +
      'Install one: on Debian or Ubuntu apt-get install g++, on Fedora dnf install gcc-c++, on macOS xcode-select --install; or set CXX.',
  );
}

/** Folders that may hold Node's headers, and why one is not used. Any Node since 20 will do, as Node-API is stable. */
function headerFolders(env) {
  const prefixes = [env.npm_config_nodedir, path.resolve(process.execPath, '..', '..'), '/usr', '/usr/local'];
  // A relative path would lie in the current folder, which another user may own.
  const home = path.isAbsolute(os.homedir()) ? os.homedir() : os.userInfo().homedir;
  const cache = path.isAbsolute(env.XDG_CACHE_HOME ?? '') ? env.XDG_CACHE_HOME : path.join(home, '.cache');
  const version = process.versions.node;
  // Headers that node-gyp once fetched. The user did not name them, so folders that others can write to are not used.
  const fetched = [
    path.join(cache, 'node-gyp', version, 'include', 'node'),
    path.join(home, 'Library', 'Caches', 'node-gyp', version, 'include', 'node'),
  ];
  const examined = (dir) => {
    if (!existsSync(dir)) return { dir, problem: null };
    const { real, problem } = examineFolder(dir);
    return { dir: problem === null ? real : dir, problem };
  };
  return [
    ...prefixes.filter(Boolean).map((prefix) => ({ dir: path.join(prefix, 'include', 'node'), problem: null })),
    ...fetched.map(examined),
  ];
}

/** @returns {string[]} include folders for <node_api.h>, <uv.h> and <napi.h> */
export function findHeaders(env = process.env) {
  const folders = headerFolders(env);
  const has = (dir, file) => existsSync(path.join(dir, file));
  // libuv's headers come with Node, or are the system's (Debian 13 and later), where the compiler looks anyway.
  const systemUv = ['/usr/include', '/usr/local/include'].some((dir) => has(dir, 'uv.h'));
  const good = folders.filter(({ problem }) => problem === null).map(({ dir }) => dir);
  const node = good.find((dir) => has(dir, 'node_api.h') && (has(dir, 'uv.h') || systemUv));
  if (node === undefined) {
    const lines = folders.map(({ dir, problem }) => `  ${dir}${problem === null ? '' : ` (not used: ${problem})`}`);
    throw new StepError(
      `Node's headers (node_api.h, uv.h) were not found in:\n${lines.join('\n')}\n` +
        'Install them: on Debian or Ubuntu apt-get install libnode-dev. The archives of nodejs.org and version managers bring ' +
        'them; npm_config_nodedir may name a folder that has include/node.',
    );
  }
  const api = createRequire(import.meta.url).resolve('node-addon-api/package.json');
  return [node, path.dirname(api)];
}
