/** npm run codegen [-- --check]: writes the bindings and the ledger; --check only compares the committed ledger. */
import { checkLedger, ensureCodegen, writeLedger } from './steps/codegen.mjs';
import { runMain, StepError } from './steps/errors.mjs';
import { withLock } from './steps/lock.mjs';
import { setUp } from './steps/setup.mjs';

const check = process.argv.includes('--check');

await runMain(() =>
  withLock(async () => {
    await setUp(['build']);
    await ensureCodegen();
    if (!check) return writeLedger();
    if (!(await checkLedger()))
      throw new StepError(
        'The committed ledger differs from the output of codegen: run `npm run codegen` and commit it.',
      );
  }),
);
