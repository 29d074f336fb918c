/**
 * Checks the types of the library, CLI, tests, benchmarks and examples. What the compiler found is kept in build/, faults too,
 * so that it checks again only what a change can affect: of half a minute of processor time, seconds are left.
 */
import { inRoot } from '../paths.mjs';
import { runShown } from './command.mjs';
import { tsc } from './typescript.mjs';

const known = inRoot('build', 'typecheck.tsbuildinfo');

export const typecheck = async () =>
  (await runShown(process.execPath, [
    ...[...tsc, '--noEmit', '-p', 'tsconfig.json'],
    ...['--incremental', '--tsBuildInfoFile', known],
  ])) === 0;
