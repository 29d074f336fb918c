/** The models of examples/language and examples/images, as multiples of PyTorch. */
import { LONGER, models } from '../measure/examples.mjs';
import { integer, none, table, times } from '../support/markdown.mjs';
import { median, noise, ratio, summarise } from '../support/stats.mjs';

/** The least multiple of PyTorch's tokens per second. */
export const LEAST = 1.2;

/** @param {import('../plan.mjs').Plan} plan @param {import('../measured.mjs').Measured} measured */
export async function examplesSection(plan, measured) {
  const { ns, cpu } = await measured.examples();
  const perSecond = (values) => (values === undefined ? none : integer(1e9 / median(values)));
  const faster = ({ node, python }, name) => (python === undefined ? none : times(ratio(python[name], node[name])));
  const rows = Object.entries(models).map(([name, title]) => [
    title,
    perSecond(ns.node[name]),
    perSecond(ns.python?.[name]),
    faster(ns, name),
    faster(cpu, name),
  ]);
  const figures = Object.entries(models).map(([name, title]) => [title, summarise(ns.node[name])]);
  return [
    '## Examples',
    'The models of examples/language and examples/images, and the same eager code in PyTorch; one thread; ' +
      `${plan.rounds} rounds of at least ${LONGER * plan.ms} ms per figure, both programs in turn within each round. Decoders: 100 ` +
      'greedy tokens after 8, with a KV cache, 2 layers, d = 64. ResNet: a step with AdamW on 64 pictures of 28×28. Medians ' +
      'per second; the multiples are medians of the ratios within a round, above 1 is faster than PyTorch.',
    table(['', 'Node', 'PyTorch', 'Node / PyTorch, speed', 'Node / PyTorch, by CPU time'], rows),
    noise(figures),
  ].join('\n\n');
}
