/** Steps of optimizers, from Node and from PyTorch, in turn. */
import { findLibtorch } from '../../scripts/libtorch.mjs';
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { figuresOf, inTurn } from '../support/turns.mjs';

const [major, minor] = findLibtorch().version.split('.').map(Number);
/** Older releases have fused steps on no CPU. */
const hasFused = major > 2 || (major === 2 && minor >= 4);

export const optimizers = {
  ...{ sgd: 'SGD with momentum', adam: 'Adam', adamw: 'AdamW' },
  ...(hasFused ? { fused: 'Adam, fused' } : {}),
};

/** @param {import('../plan.mjs').Plan} plan @param {string | undefined} python */
export async function measureOptim({ rounds, ms }, python) {
  const commands = {
    node: [process.execPath, inRoot('bench', 'node', 'optim.cjs')],
    ...(python === undefined ? {} : { python: [python, inRoot('bench', 'python', 'optim.py')] }),
  };
  const questions = Object.keys(optimizers).map((name) => ({ name, text: `${name} ${ms}` }));
  const seconds = 60 + (100 * ms) / 1000;
  const answers = await step('optimizers', () => inTurn({ commands, questions, rounds, seconds }));
  return { ns: figuresOf(answers, 'ns'), cpu: figuresOf(answers, 'cpu') };
}
