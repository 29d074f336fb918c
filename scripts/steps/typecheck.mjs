/** Checks the types of the library, CLI, tests, benchmarks and examples. */
import { runShown } from './command.mjs';
import { tsc } from './typescript.mjs';

export const typecheck = async () => (await runShown(process.execPath, [tsc, '--noEmit', '-p', 'tsconfig.json'])) === 0;
