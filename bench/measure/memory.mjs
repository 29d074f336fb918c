/** Loops that must not accumulate memory, each in a new process, alternately from Node and from PyTorch. */
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { jsonOf } from '../support/child.mjs';

/**
 * @param {string[]} loops
 * @param {import('../plan.mjs').Plan} plan
 * @param {string | undefined} python
 * @returns {Promise<Record<string, Record<'node' | 'python', { peak: number, growth: number, left: number }[]>>>}
 * bytes by loop, program and round
 */
export function measureMemory(loops, { memoryRounds, loops: counts }, python) {
  const programs = {
    node: [process.execPath, inRoot('bench', 'node', 'memory.cjs')],
    ...(python === undefined ? {} : { python: [python, inRoot('bench', 'python', 'memory.py')] }),
  };
  return step('memory', async () => {
    const result = {};
    for (const loop of loops) {
      result[loop] = Object.fromEntries(Object.keys(programs).map((program) => [program, []]));
      for (let round = 0; round < memoryRounds; round++) {
        for (const [program, command] of Object.entries(programs)) {
          result[loop][program].push(await jsonOf([...command, loop, String(counts[loop])], { seconds: 300 }));
        }
      }
    }
    return result;
  });
}
