/** torch.save and torch.load, from Node and from PyTorch, in turn. */
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { figuresOf, inTurn } from '../support/turns.mjs';

/** What is measured. libtorch-node always syncs; `save` compares it with a PyTorch that does not. */
export const files = {
  synced: '`torch.save`, both sync to the disk',
  save: '`torch.save`, PyTorch does not sync',
  load: '`torch.load`',
};

/** @param {import('../plan.mjs').Plan} plan @param {string | undefined} python */
export async function measureFiles({ fileBytes, fileRounds }, python) {
  const commands = {
    node: [process.execPath, inRoot('bench', 'node', 'files.cjs'), String(fileBytes)],
    ...(python === undefined ? {} : { python: [python, inRoot('bench', 'python', 'files.py'), String(fileBytes)] }),
  };
  // A loop is called at least once: with no time to fill, exactly once.
  const questions = Object.keys(files).map((name) => ({ name, text: `${name} 0` }));
  const answers = await step('files', () => inTurn({ commands, questions, rounds: fileRounds, seconds: 120 }));
  return { ns: figuresOf(answers, 'ns'), cpu: figuresOf(answers, 'cpu') };
}
