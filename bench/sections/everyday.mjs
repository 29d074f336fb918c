/** Ordinary calls on small tensors, compared with PyTorch. */
import { calls } from '../measure/everyday.mjs';
import { none, range, table, times } from '../support/markdown.mjs';
import { noise, ratio, summarise } from '../support/stats.mjs';

/** @param {import('../plan.mjs').Plan} plan @param {import('../measured.mjs').Measured} measured */
export async function everydaySection(plan, measured) {
  const { python, scope, gc } = await measured.everyday();
  const against = (ns, i) => (python === undefined ? none : times(ratio(ns[i], python[i])));
  const rows = calls.map(([javascript], i) => [
    `\`${javascript}\``,
    against(scope, i),
    against(gc, i),
    python === undefined ? none : range(summarise(python[i])),
    range(summarise(scope[i])),
    range(summarise(gc[i])),
  ]);
  const slower = calls.filter((_, i) => python !== undefined && ratio(gc[i], python[i]) > 1.25).length;
  return [
    '## Everyday calls',
    'Calls that most programs make, on small tensors (`x` is 8×16, `v` has 4 elements, `list32` is 32 tensors of 4), where the ' +
      `call itself takes most of the time: the median of the ratios within ${plan.rounds} rounds, and nanoseconds per call, ` +
      'median (min–max). One thread. "Scope" is `torch.scope` around 200 calls, "GC" runs without scopes and dispose; PyTorch ' +
      `frees each result at once. Of the ${calls.length} calls, ${slower} take more than 1.25 times as long as in PyTorch without scopes.`,
    table(['', 'Node, scope / PyTorch', 'Node, GC / PyTorch', 'PyTorch', 'Node, scope', 'Node, GC'], rows),
    noise(calls.map(([javascript], i) => [`\`${javascript}\` in a scope`, summarise(scope[i])])),
  ].join('\n\n');
}
