/** Training of the digits example from Node and from PyTorch, with the same data, weights and steps. */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { output } from '../support/child.mjs';
import { inTurn } from '../support/turns.mjs';

/** Full: every digit in each step. Mini: batches of 64, as in the example. */
export const trainings = { full: 'full batch', mini: 'batches of 64' };

/** The largest relative difference of the losses: both programs use the same float32 kernels, perhaps in another order. */
export const TOLERANCE = 1e-4;

/**
 * @param {import('../plan.mjs').Plan} plan
 * @param {string | undefined} python
 * @returns {Promise<Record<string, Record<string, { ns: number, cpu: number, loss: number }[]>>>}
 * by program, training and round: the time of a step, and the loss after the round's steps
 */
export function measureDigits({ digitsRounds, digitsSteps }, python) {
  const script = inRoot('bench', 'node', 'digits.cjs');
  return step('digits', async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-digits-'));
    try {
      await output([process.execPath, script, folder, 'write']);
      const commands = {
        node: [process.execPath, script, folder],
        ...(python === undefined ? {} : { python: [python, inRoot('bench', 'python', 'digits.py'), folder] }),
      };
      const questions = Object.keys(trainings).map((name) => ({ name, text: `${name} ${digitsSteps[name]}` }));
      return await inTurn({ commands, questions, rounds: digitsRounds, seconds: 300 });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
