/** Steps of DistributedDataParallel, as multiples of PyTorch. */
import { ddpNets } from '../measure/ddp.mjs';
import { none, range, table, times, verdict } from '../support/markdown.mjs';
import { noise, ratio, summarise } from '../support/stats.mjs';

/** Of a step's time, as a multiple of PyTorch's. */
const GOAL = 1.05;

/** @param {import('../plan.mjs').Plan} plan @param {import('../measured.mjs').Measured} measured */
export async function ddpSection(plan, measured) {
  const { ns, cpu } = await measured.ddp();
  const against = (clock, name) =>
    clock.python === undefined ? none : times(ratio(clock.node[name], clock.python[name]));
  const milliseconds = (values) => (values === undefined ? none : range(summarise(values.map((value) => value / 1e6))));
  const rows = Object.entries(ddpNets).map(([name, title]) => [
    title,
    milliseconds(ns.node[name]),
    milliseconds(ns.python?.[name]),
    against(ns, name),
    ns.python === undefined ? none : verdict(ratio(ns.node[name], ns.python[name]) <= GOAL),
    against(cpu, name),
  ]);
  return [
    '## Two ranks',
    'A step of SGD with `DistributedDataParallel` over Gloo on the loopback, two processes of one thread each, buckets of 1 ' +
      `MiB; ${plan.rounds} rounds of 20 steps, Node's pair and PyTorch's in turn. Milliseconds per step, median (min–max); ` +
      'the multiples are medians of the ratios within a round.',
    table(['', 'Node', 'PyTorch', 'Node / PyTorch', `goal: at most ${GOAL}`, 'in CPU time'], rows),
    noise(Object.entries(ddpNets).map(([name, title]) => [title, summarise(ns.node[name])])),
  ].join('\n\n');
}
