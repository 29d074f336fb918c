/** Training steps, as multiples of PyTorch and C++, and what a million of them leave. */
import { nets } from '../measure/train.mjs';
import { integer, megabytes, none, range, table, times } from '../support/markdown.mjs';
import { noise, ratio, summarise } from '../support/stats.mjs';

/** @param {import('../plan.mjs').Plan} plan @param {import('../measured.mjs').Measured} measured */
export async function trainSection(plan, measured) {
  const { ns, cpu, left } = await measured.train();
  const against = (clock, base, name) =>
    clock[base] === undefined ? none : times(ratio(clock.node[name], clock[base][name]));
  const milliseconds = (values) => (values === undefined ? none : range(summarise(values.map((value) => value / 1e6))));
  const rows = Object.entries(nets).map(([name, title]) => [
    title,
    milliseconds(ns.node[name]),
    milliseconds(ns.python?.[name]),
    milliseconds(ns.cpp[name]),
    against(ns, 'python', name),
    against(cpu, 'python', name),
    against(ns, 'cpp', name),
  ]);
  const figures = Object.entries(nets).map(([name, title]) => [title, summarise(ns.node[name])]);
  return [
    '## Training',
    'A step of Adam with the cross entropy (zeroGrad, forward, backward, step), in a scope as in docs/training.md; one ' +
      `thread; ${plan.rounds} rounds of ${plan.ms} ms per figure, all programs in turn within each round. The CNN has two ` +
      'convolutions on 16×16 images, the Transformer d = 64, 4 heads, 256 hidden units and sequences of 32; C++ uses ' +
      "libtorch's own modules and optimizer. Milliseconds per step, median (min–max); the multiples are medians of the " +
      'ratios within a round.',
    table(['', 'Node', 'PyTorch', 'C++', 'Node / PyTorch', 'in CPU time', 'Node / C++'], rows),
    noise(figures),
    `${integer(plan.steps)} steps of a small net without any scope: ${megabytes(left.left)} more resident memory at ` +
      `the end than after a tenth as many; ${integer(left.before)} live tensors before, ${integer(left.after)} after, at ` +
      `most ${integer(left.tensors)} (garbage that waits for its collection).`,
  ].join('\n\n');
}
