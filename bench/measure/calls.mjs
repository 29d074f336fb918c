/** The cost of a call besides the op, and of making a tensor of ten million numbers. */
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { figuresOf, inTurn } from '../support/turns.mjs';

/** Forms of call, by the raw entry that they are compared with. */
export const forms = {
  'add-raw': {
    'add-method': '`a.add(b)`',
    'add-function': '`torch.add(a, b)`',
    'add-options': '`a.add(b, { alpha: 2 })`',
    'add-ops': '`torch.ops.aten.add.Tensor(a, b)`',
  },
  'sum-raw': {
    'sum-list': '`a.sum([1], true)`',
    'sum-number': '`a.sum(1, true)`',
    'sum-options': '`a.sum({ dim: 1, keepdim: true })`',
  },
};

/** Ways to make a tensor, by the plain copy that they are compared with. */
export const data = {
  'typed-copy': {
    'typed-tensor': '`torch.tensor(float32Array)`',
    'typed-shared': '`torch.fromTypedArray(float32Array)`',
  },
  'flat-copy': { 'flat-tensor': '`torch.tensor(numbers)`' },
  'rows-copy': { 'rows-tensor': '`torch.tensor(rowsOf1000)`' },
};

const questionsOf = (groups) => Object.entries(groups).flatMap(([base, others]) => [base, ...Object.keys(others)]);

/** @param {import('../plan.mjs').Plan} plan @param {boolean} withData */
export async function measureCalls({ rounds, ms }, withData) {
  const commands = { node: [process.execPath, inRoot('bench', 'node', 'calls.cjs')] };
  const names = [...questionsOf(forms), ...(withData ? questionsOf(data) : [])];
  const questions = names.map((name) => ({ name, text: `${name} ${ms}` }));
  const answers = await step('calls', () => inTurn({ commands, questions, rounds, seconds: 120 + (100 * ms) / 1000 }));
  return { ns: figuresOf(answers, 'ns').node, cpu: figuresOf(answers, 'cpu').node };
}
