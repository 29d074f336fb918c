/** The time to load the library, beyond starting Node, compared with PyTorch's import. */
import { step } from '../../scripts/steps/progress.mjs';
import { output } from '../support/child.mjs';
import { integer, range, table } from '../support/markdown.mjs';
import { median, noise, summarise } from '../support/stats.mjs';

async function milliseconds(command) {
  const start = performance.now();
  await output(command);
  return performance.now() - start;
}

async function measure(loads, pairs) {
  const taken = pairs.map(() => ({ with: [], without: [] }));
  // The first round fills the file cache and is not counted.
  for (let round = -1; round < loads; round++) {
    for (const [i, { bare, loading }] of pairs.entries()) {
      const without = await milliseconds(bare);
      const loaded = await milliseconds(loading);
      if (round < 0) continue;
      taken[i].without.push(without);
      taken[i].with.push(loaded);
    }
  }
  return taken;
}

/**
 * @param {import('../plan.mjs').Plan} plan
 * @param {import('../measured.mjs').Measured} _measured
 * @param {string | undefined} python
 */
export async function loadSection({ loads }, _measured, python) {
  const node = process.execPath;
  const pairs = [
    { title: "`require('libtorch-node')`", bare: [node, '-e', '0'], loading: [node, '-e', "require('libtorch-node')"] },
  ];
  if (python !== undefined) {
    pairs.push({ title: '`import torch`', bare: [python, '-c', '0'], loading: [python, '-c', 'import torch'] });
  }
  const taken = await step('load time', () => measure(loads, pairs));
  const rows = pairs.map(({ title }, i) => {
    const own = taken[i].with.map((value, round) => value - taken[i].without[round]);
    return [title, integer(median(own)), range(summarise(taken[i].with)), range(summarise(taken[i].without))];
  });
  return [
    '## Load time',
    `Milliseconds, medians (min–max) of ${loads} loads, with the files in the cache.`,
    table(['', 'Own', 'Whole process', 'Bare process'], rows),
    noise(pairs.map(({ title }, i) => [title, summarise(taken[i].with)])),
  ].join('\n\n');
}
