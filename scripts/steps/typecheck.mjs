/**
 * Checks the types of the library, CLI, tests, benchmarks and examples. What the compiler found is kept in build/, faults too,
 * so that it checks again only what a change can affect: of half a minute of processor time, seconds are left.
 */
import { inRoot } from '../paths.mjs';
import { runLogged } from './command.mjs';
import { StepError } from './errors.mjs';
import { compileKnowing, tsc } from './typescript.mjs';

const known = inRoot('build', 'typecheck.tsbuildinfo');

/** Whether there are no errors; they are printed. */
export async function typecheck() {
  const args = [
    ...tsc,
    '--noEmit',
    '-p',
    'tsconfig.json',
    '--incremental',
    '--tsBuildInfoFile',
    known,
    '--pretty',
    'false',
  ];
  try {
    await compileKnowing(known, () => runLogged('typecheck', process.execPath, args));
    return true;
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    console.error(error.message);
    return false;
  }
}
