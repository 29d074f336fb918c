/** Runs CMake in build/cmake: always for codegen, on request for the native tests. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { cmakeDir, root } from '../paths.mjs';
import { runLogged } from './command.mjs';
import { jobs } from './jobs.mjs';

/** CMake refuses a build folder of another source folder, which a copied or moved checkout has. */
function dropIfMoved(dir) {
  const cache = path.join(dir, 'CMakeCache.txt');
  if (!existsSync(cache)) return;
  const home = readFileSync(cache, 'utf8').match(/^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$/m)?.[1];
  if (home !== root) rmSync(dir, { recursive: true, force: true });
}

/**
 * @param {string} log
 * @param {{ dir?: string, definitions?: string[], targets?: string[] }} [options] all targets when none is named
 */
export async function cmakeBuild(log, { dir = cmakeDir, definitions = [], targets = [] } = {}) {
  dropIfMoved(dir);
  const configure = ['-S', root, '-B', dir, '-G', 'Unix Makefiles', `-DLTN_NODE=${process.execPath}`, ...definitions];
  await runLogged(log, 'cmake', configure);
  const chosen = targets.length > 0 ? ['--target', ...targets] : [];
  await runLogged(log, 'cmake', ['--build', dir, '-j', String(jobs()), ...chosen], { append: true });
}
