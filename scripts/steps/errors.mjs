import { printable } from './printable.mjs';

/** An error whose message is meant for the user; it is printed without a stack. */
export class StepError extends Error {}

/**
 * Runs a script's main function; prints a failure's message and sets exit status 1.
 * @param {() => Promise<unknown>} main
 */
export async function runMain(main) {
  try {
    await main();
  } catch (error) {
    const known = error instanceof StepError || error?.code === 'ERR_LIBTORCH_MISSING';
    process.stderr.write(`\n${printable(String(known ? error.message : (error?.stack ?? error)))}\n`);
    process.exitCode = 1;
  }
}
