/** Training steps from Node, from PyTorch and from C++, in turn; and steps without any scope, which must leave nothing. */
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { jsonOf } from '../support/child.mjs';
import { figuresOf, inTurn } from '../support/turns.mjs';
import { cppCommand, ensureCppPrograms } from './cpp.mjs';

export const nets = {
  mlp: '784 – 128 – 10, batch 32',
  cnn: 'small CNN, batch 64',
  transformer: '4-layer Transformer, batch 8',
};

/** @param {import('../plan.mjs').Plan} plan @param {string | undefined} python */
export async function measureTrain({ rounds, ms, steps }, python) {
  await ensureCppPrograms();
  const script = inRoot('bench', 'node', 'train.cjs');
  const commands = {
    cpp: cppCommand('train'),
    ...(python === undefined ? {} : { python: [python, inRoot('bench', 'python', 'train.py')] }),
    node: [process.execPath, script],
  };
  const questions = Object.keys(nets).map((name) => ({ name, text: `${name} ${ms}` }));
  const seconds = 60 + (100 * ms) / 1000;
  const answers = await step('training', () => inTurn({ commands, questions, rounds, seconds }));
  const count = String(steps);
  const left = await step('steps without a scope', () => jsonOf([process.execPath, script, count], { seconds: 1200 }));
  return { ns: figuresOf(answers, 'ns'), cpu: figuresOf(answers, 'cpu'), left };
}
