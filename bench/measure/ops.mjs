/** The ops from C++, from PyTorch, and from Node: in one scope, in a scope per op, as a replay, and garbage-collected. */
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { figuresOf, inTurn } from '../support/turns.mjs';
import { cppCommand, ensureCppPrograms } from './cpp.mjs';

export const ops = {
  add: '`add`',
  add_: '`add_`',
  view: '`view`',
  empty: '`empty`',
  sum: '`sum`',
  sum_dim: '`sum([1], true)` 4×4',
  expression: '100-op expression 4×4',
  chain: '100-op expression of one element',
  mm: '`mm` 128×128',
};

export const lifetimes = { scope: 'Node, scope', gc: 'Node, GC', 'scope-per-op': 'Node, scope per op' };

/** The ops that `torch.capture` replays too. */
export const captured = ['expression', 'chain'];

/**
 * @param {import('../plan.mjs').Plan} plan
 * @param {string | undefined} python
 * @param {Record<string, string[]>} [wanted] the programs to measure, by op; by default all programs for all ops
 * @returns {Promise<Record<'ns' | 'cpu', Record<string, Record<string, number[]>>>>} by clock, program, op and round
 */
export async function measureOps({ rounds, ms }, python, wanted) {
  await ensureCppPrograms();
  const node = (lifetime) => [process.execPath, inRoot('bench', 'node', 'ops.cjs'), lifetime];
  const commands = {
    cpp: cppCommand('ops'),
    ...(python === undefined ? {} : { python: [python, inRoot('bench', 'python', 'ops.py')] }),
    ...Object.fromEntries([...Object.keys(lifetimes), 'captured'].map((lifetime) => [lifetime, node(lifetime)])),
  };
  const programs = Object.keys(commands);
  const all = (op) => (captured.includes(op) ? programs : programs.filter((program) => program !== 'captured'));
  const questions = Object.keys(ops)
    .filter((op) => wanted === undefined || op in wanted)
    .map((op) => ({ name: op, text: `${op} ${ms}`, of: wanted?.[op] ?? all(op) }));
  const seconds = 60 + (100 * ms) / 1000;
  const answers = await step('ops', () => inTurn({ commands, questions, rounds, seconds }));
  return { ns: figuresOf(answers, 'ns'), cpu: figuresOf(answers, 'cpu') };
}
