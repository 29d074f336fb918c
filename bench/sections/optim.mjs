/** Steps of optimizers, as multiples of PyTorch. */
import { optimizers } from '../measure/optim.mjs';
import { none, range, table, times } from '../support/markdown.mjs';
import { noise, ratio, summarise } from '../support/stats.mjs';

/** @param {import('../plan.mjs').Plan} plan @param {import('../measured.mjs').Measured} measured */
export async function optimSection(plan, measured) {
  const { ns, cpu } = await measured.optim();
  const against = (clock, name) =>
    clock.python === undefined ? none : times(ratio(clock.node[name], clock.python[name]));
  const microseconds = (values) =>
    values === undefined ? none : range(summarise(values.map((value) => value / 1000)));
  const rows = Object.entries(optimizers).map(([name, title]) => [
    title,
    microseconds(ns.node[name]),
    microseconds(ns.python?.[name]),
    against(ns, name),
    against(cpu, name),
  ]);
  // What a program gains that asks for fused steps here, where PyTorch's default is a loop.
  if (optimizers.fused !== undefined && ns.python !== undefined) {
    const to = (clock) => times(ratio(clock.node.fused, clock.python.adam));
    rows.push(['Adam, fused; PyTorch: not fused', rows.at(-1)[1], microseconds(ns.python.adam), to(ns), to(cpu)]);
  }
  const figures = Object.entries(optimizers).map(([name, title]) => [title, summarise(ns.node[name])]);
  return [
    '## Optimizers',
    `A step of 100 parameters with 1,000 float32 each; one thread; ${plan.rounds} rounds of ${plan.ms} ms per figure, both ` +
      'programs in turn within each round. Microseconds per step, median (min–max); the multiples are medians of the ' +
      'ratios within a round.',
    table(['', 'Node', 'PyTorch', 'Node / PyTorch, time', 'Node / PyTorch, CPU time'], rows),
    noise(figures),
  ].join('\n\n');
}
