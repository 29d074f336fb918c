/** The models of examples/language and examples/images, from Node and from PyTorch, in turn. */
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { figuresOf, inTurn } from '../support/turns.mjs';

export const models = {
  llama: 'Llama, tokens',
  gpt2: 'GPT-2, tokens',
  resnet: 'ResNet in training, pictures',
};

/** A round is this many times as long as that of an op: V8 compiles a model's many functions for longer. */
export const LONGER = 4;

/** @param {import('../plan.mjs').Plan} plan @param {string | undefined} python */
export async function measureExamples({ rounds, ms }, python) {
  const commands = {
    node: [process.execPath, inRoot('bench', 'node', 'examples.cjs')],
    ...(python === undefined ? {} : { python: [python, inRoot('bench', 'python', 'examples.py')] }),
  };
  const questions = Object.keys(models).map((name) => ({ name, text: `${name} ${LONGER * ms}` }));
  const seconds = 60 + (100 * LONGER * ms) / 1000;
  const answers = await step('examples', () => inTurn({ commands, questions, rounds, seconds }));
  return { ns: figuresOf(answers, 'ns'), cpu: figuresOf(answers, 'cpu') };
}
