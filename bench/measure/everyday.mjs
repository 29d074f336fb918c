/** Ordinary calls on small tensors from PyTorch and from Node. */
import { readFileSync } from 'node:fs';
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { figuresOf, inTurn } from '../support/turns.mjs';

/** @type {[javascript: string, python: string][]} */
export const calls = JSON.parse(readFileSync(inRoot('bench', 'support', 'everyday.json'), 'utf8'));

/** The time of one round as a share of that of the ops, of which there are fewer. */
const SHARE = 0.2;

/**
 * @param {import('../plan.mjs').Plan} plan
 * @param {string | undefined} python
 * @returns {Promise<Record<string, Record<string, number[]>>>} nanoseconds by program, index of the call and round
 */
export async function measureEveryday({ rounds, ms }, python) {
  const node = (lifetime) => [process.execPath, inRoot('bench', 'node', 'everyday.cjs'), lifetime];
  const commands = {
    ...(python === undefined ? {} : { python: [python, inRoot('bench', 'python', 'everyday.py')] }),
    scope: node('scope'),
    gc: node('gc'),
  };
  const questions = calls.map((_, i) => ({ name: String(i), text: `${i} ${ms * SHARE}` }));
  const answers = await step('everyday', () => inTurn({ commands, questions, rounds, seconds: 60 + ms / 10 }));
  return figuresOf(answers, 'ns');
}
