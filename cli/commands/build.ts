/** `libtorch-node build`: compiles the addon for the libtorch of this machine, where the package brings none for it. */
import { spawn } from 'node:child_process';
import * as path from 'node:path';
import { Command } from 'commander';
import { UsageError } from '../errors';

interface Options {
  force?: boolean;
  jobs?: string;
}

const script = path.join(__dirname, '..', '..', '..', 'scripts', 'installed', 'build.mjs');

export function buildCommand(done: (status: number) => void): Command {
  return new Command('build')
    .description(
      'Compiles the addon for the libtorch at hand into the cache folder of the user; needs a C++ compiler, downloads nothing: ' +
        'exits 0 built or nothing to do, 1 failed, 2 usage.',
    )
    .option('--force', 'build also where an addon loads already')
    .option('--jobs <n>', 'compilers at a time (default: by cores and free memory)')
    .addHelpText(
      'after',
      '\nLIBTORCH (with LIBTORCH_INCLUDE, LIBTORCH_LIB) or LIBTORCH_USE_PYTORCH=1 choose the libtorch, CXX the compiler, ' +
        'LIBTORCH_NODE_CACHE the cache folder.',
    )
    .action(async ({ force, jobs }: Options) => {
      if (jobs !== undefined && !/^[1-9]\d*$/.test(jobs))
        throw new UsageError(`--jobs ${jobs}: not a number of 1 or more`);
      const args = [...(force === true ? ['--force'] : []), ...(jobs === undefined ? [] : ['--jobs', jobs])];
      done(await run([script, ...args]));
    });
}

/** The script's exit status; an interruption reaches it too, and it cleans up before it ends. */
function run(args: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    // Before there is a child: a signal that comes right after it has begun must not end this process alone.
    const wait = (): void => {};
    process.on('SIGINT', wait);
    process.on('SIGTERM', () => child.kill('SIGTERM'));
    const child = spawn(process.execPath, args, { stdio: 'inherit' });
    child.once('error', reject);
    child.once('close', (code) => {
      process.off('SIGINT', wait);
      resolve(code ?? 1);
    });
  });
}
