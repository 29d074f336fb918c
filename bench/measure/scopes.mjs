/** The cost of a scope, before and after the process has used an async scope. */
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { figuresOf, inTurn } from '../support/turns.mjs';

export const scopeLoops = {
  scope: '`torch.scope(() => {})`',
  openScope: '`openScope` and `close`',
  'add-scope': '`add`, a scope each',
  'add-gc': '`add`, GC',
};

/** The async scopes that the process has used before the measurement. */
export const pasts = {
  never: 'nothing async',
  used: 'after async scopes',
  storage: 'inside an AsyncLocalStorage',
  open: 'an async scope open elsewhere',
};

/** @param {import('../plan.mjs').Plan} plan @param {string[]} [only] of `pasts` */
export async function measureScopes({ rounds, ms }, only = Object.keys(pasts)) {
  const commands = Object.fromEntries(
    only.map((past) => [past, [process.execPath, inRoot('bench', 'node', 'scopes.cjs'), past]]),
  );
  const questions = Object.keys(scopeLoops).map((name) => ({ name, text: `${name} ${ms}` }));
  const seconds = 60 + (100 * ms) / 1000;
  const answers = await step('scopes', () => inTurn({ commands, questions, rounds, seconds }));
  return { ns: figuresOf(answers, 'ns'), cpu: figuresOf(answers, 'cpu') };
}
