/** Checks before an op (codegen/spec/guards): the emitted conditions, and the ops behind them, from C++. */
import { step } from '../../scripts/steps/progress.mjs';
import { figuresOf, inTurn } from '../support/turns.mjs';
import { cppCommand, ensureCppPrograms } from './cpp.mjs';

/** What each condition looks at, by the name in bench/cpp/guards.cpp. */
export const guards = {
  pixel_shuffle: 'a number',
  index: 'the memory of each index',
  reflection_pad2d: 'a length and dimensions',
  embedding_bag: 'dimensions',
  native_batch_norm: 'the sizes of five tensors',
  upsample_bilinear2d: 'sizes and two scales',
  lstm_cell: 'the sizes of three tensors',
  'remainder of float32': 'dtypes',
  'remainder of int64': 'each divisor',
  'remainder of 1,000 int64': 'each divisor',
  max_pool2d_with_indices_backward: 'each index',
};

/** Those of guards that read elements, of which the cost grows with the tensor. */
export const readElements = ['remainder of int64', 'remainder of 1,000 int64', 'max_pool2d_with_indices_backward'];

/** @param {import('../plan.mjs').Plan} plan @returns {Promise<Record<'guard' | 'op', Record<string, number[]>>>} CPU ns */
export async function measureGuards({ rounds, ms }) {
  await ensureCppPrograms();
  const questions = Object.keys(guards).flatMap((name) =>
    ['guard', 'op'].map((kind) => ({ name: `${kind}:${name}`, text: `${kind} ${ms} ${name}` })),
  );
  const commands = { cpp: cppCommand('guards') };
  const answers = await step('guards', () => inTurn({ commands, questions, rounds, seconds: 60 }));
  const { cpp } = figuresOf(answers, 'cpu');
  const kind = (of) => Object.fromEntries(Object.keys(guards).map((name) => [name, cpp[`${of}:${name}`]]));
  return { guard: kind('guard'), op: kind('op') };
}
