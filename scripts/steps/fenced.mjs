/** The addon whose tensors lie between pages that cannot be touched (native/accounting/fence.h), for npm run fuzz -- --fence. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from '../paths.mjs';
import { cmakeBuild } from './cmake.mjs';
import { withLock } from './lock.mjs';
import { step } from './progress.mjs';
import { addonDefinitions } from './sanitizers.mjs';

/** Debian's names of the folders for libraries. */
const MULTIARCH = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };
const dir = inRoot('build', 'cmake-fence');

/**
 * Builds it and returns the environment of a Node that loads it. OpenBLAS's vector kernels read up to a vector past the end of
 * a matrix, which no other block can notice, so the reference BLAS and LAPACK are used, where Debian has them.
 * @returns {Promise<NodeJS.ProcessEnv>}
 */
export async function fencedEnv() {
  await withLock(() =>
    step('fenced addon: compiling (minutes the first time)', () =>
      cmakeBuild('fence', {
        dir,
        definitions: ['-DBUILD_TESTING=ON', ...addonDefinitions('-O1 -DLTN_FENCE')],
        targets: ['ltn_addon'],
      }),
    ),
  );
  const libraries = ['blas', 'lapack'].map((name) => `/usr/lib/${MULTIARCH[process.arch]}/${name}`).filter(existsSync);
  return {
    ...process.env,
    LIBTORCH_NODE_ADDON: path.join(dir, 'libtorch_node.node'),
    LD_LIBRARY_PATH: [...libraries, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':'),
  };
}
