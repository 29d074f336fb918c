/** `libtorch-node build`: compiles the addon for this machine's libtorch if the package contains none for it. */
import { spawn } from 'node:child_process';
import * as path from 'node:path';
import { Command } from 'commander';
import { UsageError } from '../errors/errors';

interface Options {
  force?: boolean;
  jobs?: string;
}

const script = path.join(__dirname, '..', '..', '..', 'scripts', 'installed', 'build.mjs');

export function buildCommand(done: (status: number) => void): Command {
  return new Command('build')
    .description(
      "Compiles the addon for this machine's libtorch into the user's cache folder; needs a C++ compiler, downloads nothing. " +
        'Exit status: 0 built or nothing to do, 1 failed, 2 wrong usage.',
    )
    .option('--force', 'build even if an addon already loads')
    .option('--jobs <n>', 'number of parallel compilers (default: by cores and free memory)')
    .addHelpText(
      'after',
      '\nLIBTORCH (with LIBTORCH_INCLUDE, LIBTORCH_LIB) or LIBTORCH_USE_PYTORCH=1\n' +
        'choose the libtorch, CXX the compiler, LIBTORCH_NODE_CACHE the cache folder.',
    )
    .action(async ({ force, jobs }: Options) => {
      if (jobs !== undefined && !/^[1-9]\d*$/.test(jobs))
        throw new UsageError(`--jobs: expected a whole number of 1 or more, got ${jobs}`);
      const args = [...(force === true ? ['--force'] : []), ...(jobs === undefined ? [] : ['--jobs', jobs])];
      done(await run([script, ...args]));
    });
}

/** Returns the script's exit status. The script also receives an interrupt and cleans up before it exits. */
function run(args: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    // Installed before the child exists, so that a signal right after its start does not end only this process.
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
