/** Builds the C++ programs of bench/cpp. */
import path from 'node:path';
import { buildDir, inRoot } from '../../scripts/paths.mjs';
import { runLogged } from '../../scripts/steps/command.mjs';
import { withLock } from '../../scripts/steps/lock.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { filesBelow, isUpToDate, whenChanged } from '../../scripts/steps/stamps.mjs';

const cppDir = path.join(buildDir, 'bench');
/** @param {'ops' | 'peers' | 'train'} name */
export const cppProgram = (name) => path.join(cppDir, `bench_${name}`);

/** Compiles them if they or scripts/libtorch.mjs changed. */
export async function ensureCppPrograms() {
  const inputs = {
    files: filesBelow(['bench/cpp', 'scripts/libtorch.mjs'], ['']),
    outputs: ['ops', 'peers', 'train'].map(cppProgram),
  };
  if (isUpToDate('bench', inputs)) return; // without waiting for the build lock
  const compile = () =>
    step('the C++ benchmarks: compiling', async () => {
      const configure = ['-S', inRoot('bench', 'cpp'), '-B', cppDir, `-DLTN_NODE=${process.execPath}`];
      await runLogged('bench', 'cmake', configure);
      await runLogged('bench', 'cmake', ['--build', cppDir], { append: true });
    });
  await withLock(() => whenChanged('bench', inputs, compile));
}
