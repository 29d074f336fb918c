/**
 * npm run test:cuda [-- program…]: builds against a libtorch with CUDA, which LIBTORCH or LIBTORCH_USE_PYTORCH=1 names, and runs the
 * programs of test/cuda/programs on the device 0. They need a GPU, `nvidia-smi`, and a python3 whose PyTorch is of the same release.
 *
 *   node scripts/cuda.mjs --app FOLDER [program…]   on the libtorch-node that is installed in a folder, without a build
 */
import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { runMain, StepError } from './steps/errors.mjs';
import { say } from './steps/progress.mjs';

const MAX_SECONDS = 300; // compiling the packages of `models` takes the longest
const programs = inRoot('test', 'cuda', 'programs');
const helpers = ['checks.mjs'];
const all = readdirSync(programs)
  .filter((name) => name.endsWith('.mjs') && !helpers.includes(name))
  .map((name) => path.basename(name, '.mjs'));

await runMain(async () => {
  const words = process.argv.slice(2);
  const isApp = words[0] === '--app';
  const app = isApp ? words.splice(0, 2)[1] : undefined;
  if (isApp && app === undefined) throw new StepError('--app: expected a folder in which libtorch-node is installed');
  const unknown = words.filter((word) => !all.includes(word));
  if (unknown.length > 0) throw new StepError(`expected programs among ${all.join(', ')}, got ${unknown.join(', ')}`);
  let cwd = programs;
  if (app === undefined) {
    await buildAll();
  } else {
    cwd = path.resolve(app, 'cuda-programs'); // finds the folder's node_modules
    cpSync(programs, cwd, { recursive: true });
  }
  const failed = [];
  for (const name of words.length > 0 ? words : all) {
    const options = {
      cwd,
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: MAX_SECONDS * 1000,
      killSignal: 'SIGKILL',
    };
    const { status, signal } = spawnSync(process.execPath, ['--expose-gc', `${name}.mjs`], options);
    if (status === 0) continue;
    failed.push(name);
    say(`✗ ${name}: ${status === null ? signal : `exit status ${status}`}`);
  }
  if (failed.length > 0) throw new StepError(`failed: ${failed.join(', ')}`);
});
