/** CMake in build/cmake: codegen always, the native tests when they are asked for. */

import { cmakeDir, root } from '../paths.mjs';
import { runLogged } from './command.mjs';
import { jobs } from './jobs.mjs';

/**
 * @param {string} log
 * @param {{ dir?: string, definitions?: string[], targets?: string[] }} [options] all targets when none is named
 */
export async function cmakeBuild(log, { dir = cmakeDir, definitions = [], targets = [] } = {}) {
  const configure = ['-S', root, '-B', dir, '-G', 'Unix Makefiles', `-DLTN_NODE=${process.execPath}`, ...definitions];
  await runLogged(log, 'cmake', configure);
  const chosen = targets.length > 0 ? ['--target', ...targets] : [];
  await runLogged(log, 'cmake', ['--build', dir, '-j', String(jobs()), ...chosen], { append: true });
}
