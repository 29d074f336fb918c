/** npm run typecheck: runs tsc over all TypeScript, including tests and examples. */
import { ensureCodegen } from './steps/codegen.mjs';
import { runMain } from './steps/errors.mjs';
import { withLock } from './steps/lock.mjs';
import { setUp } from './steps/setup.mjs';
import { typecheck } from './steps/typecheck.mjs';

await runMain(async () => {
  await withLock(async () => {
    await setUp(['build']);
    await ensureCodegen();
  });
  if (!(await typecheck())) process.exitCode = 1;
});
