/** Training steps of two ranks on this machine, from Node and from PyTorch, in turn. */
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { figuresOf, inTurn } from '../support/turns.mjs';

export const ddpNets = { cnn: 'small CNN, batch 64', mlp: '784 – 1024 – 512 – 10, batch 64, 5 MB of gradients' };

/** @param {import('../plan.mjs').Plan} plan @param {string | undefined} python */
export async function measureDdp({ rounds }, python) {
  const pair = [process.execPath, inRoot('bench', 'support', 'pair.mjs')];
  const commands = {
    ...(python === undefined ? {} : { python: [...pair, python, inRoot('bench', 'python', 'ddp.py')] }),
    node: [...pair, process.execPath, inRoot('bench', 'node', 'ddp.cjs')],
  };
  const questions = Object.keys(ddpNets).map((name) => ({ name, text: `${name} 20` }));
  const answers = await step('two ranks', () => inTurn({ commands, questions, rounds, seconds: 300 }));
  return { ns: figuresOf(answers, 'ns'), cpu: figuresOf(answers, 'cpu') };
}
